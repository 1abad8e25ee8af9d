import type { JobHandler, Remaining } from "../../../memory/jobs/run-jobs.ts";
import {
  makeSummariseConversation,
  type Summarise,
  DEFAULT_SUMMARY,
  type SummarySettings,
} from "../../../memory/summary/summarise-conversation.ts";
import type { Job } from "../../../stores/jobs/job.ts";
import type { OwnedConversation } from "../../../stores/owner.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeSummaryStore, type SummaryStore } from "../../../stores/postgres/memory/summary-store.ts";

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

type SummariseJob = Extract<Job, { kind: "summarise" }>;
export type SummaryHandler = JobHandler<SummariseJob>;

/** The steps of the summary job, without a queue. */
export interface SummarySteps {
  summaries: SummaryStore;
  makeHandler(summarise: Summarise, settings?: Partial<SummarySettings>, stepTokens?: number): SummaryHandler;
  /** Notes what its summariser is given and calls its summaries "summary 1", "summary 2" and so on. */
  makeRecording(
    settings?: Partial<SummarySettings>,
    stepTokens?: number,
  ): { handler: SummaryHandler; given: { previous: string | null; contents: string[] }[] };
  step(handler: SummaryHandler, conversation: OwnedConversation, signal?: AbortSignal): Promise<void>;
  remaining(handler: SummaryHandler, conversation: OwnedConversation): Promise<Remaining>;
  /** Runs steps, as the queue does, until none is left. Throws when that takes more than 50. */
  runAll(handler: SummaryHandler, conversation: OwnedConversation): Promise<void>;
}

export function summarySteps(database: Database): SummarySteps {
  const summaries = makeSummaryStore(database);
  const toJob = (conversation: OwnedConversation): SummariseJob => ({ kind: "summarise", ...conversation });
  const steps: SummarySteps = {
    summaries,
    makeHandler: (summarise, settings = {}, stepTokens = 1_000_000) =>
      makeSummariseConversation({ summaries, settings: { ...DEFAULT_SUMMARY, ...settings }, summarise, stepTokens }),
    makeRecording(settings, stepTokens) {
      const given: { previous: string | null; contents: string[] }[] = [];
      const summarise: Summarise = async ({ previous, messages }) =>
        `summary ${given.push({ previous, contents: messages.map(({ content }) => content) })}`;
      return { given, handler: steps.makeHandler(summarise, settings, stepTokens) };
    },
    step: (handler, conversation, signal = new AbortController().signal) => handler.step(toJob(conversation), signal),
    remaining: (handler, conversation) => database.transaction((transaction) => handler.remaining(transaction, toJob(conversation), false)),
    async runAll(handler, conversation) {
      for (let count = 0; count < 50; count++) {
        await steps.step(handler, conversation);
        if ((await steps.remaining(handler, conversation)) === "nothing") return;
      }
      throw new Error("more is left to do after 50 steps");
    },
  };
  return steps;
}
