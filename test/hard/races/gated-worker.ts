import { type JobHandler, runJobs, type RunningJobs } from "../../../memory/jobs/run-jobs.ts";
import { makeSummariseConversation, type Summarise, type SummarySettings } from "../../../memory/summary/summarise-conversation.ts";
import { type JobQueue, makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeSummaryStore } from "../../../stores/postgres/memory/summary-store.ts";
import { makeGate, makeGatedDatabase } from "./gate.ts";

/** The longest timer of Node: the worker looks for jobs only when the driver says so. */
const NEVER_MS = 2_147_483_647;

const NO_SUCH_JOB: JobHandler = {
  step: async ({ kind }) => Promise.reject(new Error(`nobody adds jobs of kind ${kind}`)),
  remaining: async () => "nothing",
};

export interface WorkerSettings extends SummarySettings {
  stepTokens: number;
}

/**
 * `runJobs` as a process of its own; the model's call is a gate as well, and its summary is the marks of all that it was given, in order.
 */
export function makeGatedWorker(database: Database) {
  const gate = makeGate();
  const gated = makeGatedDatabase(database, gate);
  const queue = makeJobQueue(gated);
  const summaries = makeSummaryStore(gated);
  let lives: Promise<RunningJobs>[] = [];
  let wakeUp: () => void = () => undefined;

  const summarise: Summarise = ({ previous, messages }) =>
    gate.pass({
      name: "summarise",
      whole: async () => [...(previous === null ? [] : [previous]), ...messages.map(({ content }) => content)].join(" "),
    });

  /** Later than what runJobs does with the answer. */
  const restSoon = (): void => void setImmediate(() => gate.rest());

  const steered: JobQueue = {
    ...queue,
    async claim(limit) {
      try {
        const claimed = await queue.claim(limit);
        if (claimed.length === 0) restSoon();
        return claimed;
      } catch (error) {
        restSoon();
        throw error;
      }
    },
    touch: async (claimed) => [...claimed],
    async watch(onJobs) {
      wakeUp = onJobs;
      return async () => undefined;
    },
  };

  return {
    gate,
    queue,
    start({ stepTokens, ...settings }: WorkerSettings): Promise<void> {
      gate.revive();
      const summariser = makeSummariseConversation({ summaries, settings, summarise, stepTokens });
      const others = {
        index_episodes: NO_SUCH_JOB,
        remember: NO_SUCH_JOB,
        erase: NO_SUCH_JOB,
        erase_episodes: NO_SUCH_JOB,
        erase_unused: NO_SUCH_JOB,
        tell_question: NO_SUCH_JOB,
        title: NO_SUCH_JOB,
      };
      const handlers = { summarise: summariser, ...others, vacuum: NO_SUCH_JOB, ingest: NO_SUCH_JOB };
      return gate.untilQuiet(() => void lives.push(runJobs({ queue: steered, handlers, concurrency: 1, pollMs: NEVER_MS })));
    },
    wake: () => gate.untilQuiet(wakeUp),
    isRunning: (): boolean => lives.length > 0 && !gate.isDead(),
    async stop(): Promise<void> {
      await Promise.all(lives.map(async (life) => (await life).stop()));
      lives = [];
    },
  };
}
