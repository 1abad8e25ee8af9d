import type { JobHandler, Remaining } from "../../../memory/jobs/run-jobs.ts";
import { makeSummariseConversation, type Summarise } from "../../../memory/summary/summarise-conversation.ts";
import type { SummarySettings } from "../../../memory/summary/summary-due.ts";
import type { Job } from "../../../stores/jobs/job.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeSummaryStore, type SummaryStore } from "../../../stores/postgres/memory/summary-store.ts";
import type { OwnedConversation } from "../../../stores/owner.ts";

export const SETTINGS: SummarySettings = { minMessages: 10, updateDelta: 5, historyWindow: 6 };

/** What a summariser was given in one step. */
export interface GivenToSummarise {
  previous: string | null;
  contents: string[];
}

type SummariseJob = Extract<Job, { kind: "summarise" }>;
export type SummaryHandler = JobHandler<SummariseJob>;

/** The steps of the summary job, without a queue. */
export interface SummarySteps {
  summaries: SummaryStore;
  makeHandler(summarise: Summarise, settings?: Partial<SummarySettings>, stepTokens?: number): SummaryHandler;
  /** A handler whose summariser notes what it is given and calls its summaries "summary 1", "summary 2" and so on. */
  makeRecording(settings?: Partial<SummarySettings>, stepTokens?: number): { handler: SummaryHandler; given: GivenToSummarise[] };
  step(handler: SummaryHandler, conversation: OwnedConversation, signal?: AbortSignal): Promise<void>;
  remaining(handler: SummaryHandler, conversation: OwnedConversation): Promise<Remaining>;
  /** Runs steps, as the queue does, until none is left. Throws when that takes more than 50. */
  runAll(handler: SummaryHandler, conversation: OwnedConversation): Promise<void>;
}

const MOST_STEPS = 50;

export function summarySteps(database: Database): SummarySteps {
  const summaries = makeSummaryStore(database);
  const toJob = (conversation: OwnedConversation): SummariseJob => ({ kind: "summarise", ...conversation });
  const steps: SummarySteps = {
    summaries,
    makeHandler: (summarise, settings = {}, stepTokens = 1_000_000) =>
      makeSummariseConversation({ summaries, settings: { ...SETTINGS, ...settings }, summarise, stepTokens }),
    makeRecording(settings, stepTokens) {
      const given: GivenToSummarise[] = [];
      const summarise: Summarise = async ({ previous, messages }) => {
        given.push({ previous, contents: messages.map(({ content }) => content) });
        return `summary ${given.length}`;
      };
      return { given, handler: steps.makeHandler(summarise, settings, stepTokens) };
    },
    step: (handler, conversation, signal = new AbortController().signal) => handler.step(toJob(conversation), signal),
    remaining: (handler, conversation) => database.transaction((transaction) => handler.remaining(transaction, toJob(conversation), false)),
    async runAll(handler, conversation) {
      for (let count = 0; count < MOST_STEPS; count++) {
        await steps.step(handler, conversation);
        if ((await steps.remaining(handler, conversation)) === "nothing") return;
      }
      throw new Error(`more is left to do after ${MOST_STEPS} steps`);
    },
  };
  return steps;
}
