import type { JobHandler } from "../../../memory/jobs/run-jobs.ts";
import {
  makeSummariseConversation,
  type Summarise,
  DEFAULT_SUMMARY,
  type SummarySettings,
} from "../../../memory/summary/summarise-conversation.ts";
import type { ConversationJob } from "../../../stores/jobs/job.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeSummaryStore } from "../../../stores/postgres/memory/summary-store.ts";

const MESSAGES = `
with conversation as (
  update conversations set message_count = message_count + $2, last_message_at = last_message_at + $2 * interval '1 millisecond'
  where id = $1 returning id, message_count - $2 as before, last_message_at - $2 * interval '1 millisecond' as since
)
insert into messages (id, conversation_id, role, content, completed, token_count, created_at)
select gen_random_uuid(), id, case (before + number) % 2 when 1 then 'user' else 'assistant' end, 'message ' || before + number, true, 10,
  since + number * interval '1 millisecond'
from conversation, generate_series(1, $2) number`;

/** Stores messages "message N" of 10 tokens behind those that a conversation has. */
export async function addMessages(database: Database, { conversationId }: OwnedConversation, count: number): Promise<void> {
  await database.query({ text: MESSAGES, values: [conversationId, count] });
}

type SummariseJob = ConversationJob<"summarise">;
type SummaryHandler = JobHandler<SummariseJob>;

export type SummarySteps = ReturnType<typeof summarySteps>;

/** The steps of the summary job, without a queue. */
export function summarySteps(database: Database) {
  const summaries = makeSummaryStore(database);
  const toJob = (conversation: OwnedConversation): SummariseJob => ({ kind: "summarise", ...conversation });
  const makeHandler = (summarise: Summarise, settings: Partial<SummarySettings> = {}, stepTokens = 1_000_000): SummaryHandler =>
    makeSummariseConversation({ summaries, settings: { ...DEFAULT_SUMMARY, ...settings }, summarise, stepTokens });
  const step = (handler: SummaryHandler, conversation: OwnedConversation, signal = new AbortController().signal) =>
    handler.step(toJob(conversation), signal);
  const remaining = (handler: SummaryHandler, conversation: OwnedConversation) =>
    database.transaction((transaction) => handler.remaining(transaction, toJob(conversation), false));
  return {
    summaries,
    makeHandler,
    step,
    remaining,
    /** Notes what its summariser is given and calls its summaries "summary 1", "summary 2" and so on. */
    makeRecording(settings?: Partial<SummarySettings>, stepTokens?: number) {
      const given: { previous: string | null; contents: string[] }[] = [];
      const summarise: Summarise = async ({ previous, messages }) =>
        `summary ${given.push({ previous, contents: messages.map(({ content }) => content) })}`;
      return { given, handler: makeHandler(summarise, settings, stepTokens) };
    },
    /** Runs steps, as the queue does, until none is left. Throws when that takes more than 50. */
    async runAll(handler: SummaryHandler, conversation: OwnedConversation): Promise<void> {
      for (let count = 0; count < 50; count++) {
        await step(handler, conversation);
        if ((await remaining(handler, conversation)) === "nothing") return;
      }
      throw new Error("more is left to do after 50 steps");
    },
  };
}
