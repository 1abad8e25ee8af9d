import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { DEFAULT_TIMEOUTS, type AnswerTimeouts } from "../../models/answer-deadlines.ts";
import { contextTokenBudget } from "../../models/context-token-budget.ts";
import { makeJobQueue } from "../../stores/jobs/job-queue.ts";
import type { Database } from "../../stores/postgres/database.ts";
import { makeEpisodeStore } from "../../stores/postgres/episode-store.ts";
import { makeSummaryStore } from "../../stores/postgres/summary-store.ts";
import { makeEraseEpisodes } from "../episodes/erase-episodes.ts";
import { makeIndexEpisodes } from "../episodes/index-episodes.ts";
import type { JobHandler } from "./job-handler.ts";
import type { EpisodicMemory } from "../episodes/open-episodic-memory.ts";
import { runJobs, type RunJobsParts, type RunningJobs } from "./run-jobs.ts";
import { makeSummariseConversation } from "../summary/summarise-conversation.ts";
import { summariseOffline } from "../summary/summarise-offline.ts";
import { makeSummariseWithModel } from "../summary/summarise-with-model.ts";
import { DEFAULT_SUMMARY } from "../summary/summary-due.ts";
import { ASKED_SUMMARY_TOKENS } from "../summary/summary-prompt.ts";

/** Give it the same `historyWindow` and `summary` as the graph whose turns it follows. */
export interface MemoryJobsParts extends Pick<RunJobsParts, "onRun" | "onError" | "concurrency" | "pollMs"> {
  /** Migrated: see `migrate`. */
  database: Database;
  /** Writes the summaries. Null: the built-in summariser, which keeps the sentences that say most. */
  summaryModel: BaseChatModel | null;
  /** Default 6. */
  historyWindow?: number;
  /** Null: no summaries. Default 10 and 5. */
  summary?: { minMessages: number; updateDelta: number } | null;
  /** Indexes completed turns as episodes. Null: none are. */
  episodicMemory?: Pick<EpisodicMemory, "index" | "embedder" | "timeZone"> | null;
  /** Default 30 seconds each. */
  timeouts?: AnswerTimeouts;
}

/** Tokens of messages in one step of a summary, at most: what a summary of a few hundred words can still do justice to. */
const MAX_STEP_TOKENS = 6_000;

/** A layer that is switched off has nothing to do: its jobs, left over from before, end. */
const SWITCHED_OFF: JobHandler = { step: async () => undefined, remaining: async () => "nothing" };

/** Half of what the model takes is for messages; the summary before, instructions and one overlong message share the rest. */
function stepTokensFor(model: BaseChatModel | null): number {
  if (!model) return MAX_STEP_TOKENS;
  return Math.min(MAX_STEP_TOKENS, Math.max(ASKED_SUMMARY_TOKENS, Math.floor(contextTokenBudget(model) / 3)));
}

/** Does in this process what finished turns leave to be done, until it is stopped. Several processes may share a database. */
export async function runMemoryJobs(parts: MemoryJobsParts): Promise<RunningJobs> {
  const { database, summaryModel, historyWindow = DEFAULT_SUMMARY.historyWindow, summary = DEFAULT_SUMMARY } = parts;
  const { timeouts = DEFAULT_TIMEOUTS, episodicMemory = null } = parts;
  const stepTokens = stepTokensFor(summaryModel);
  const summarise = summaryModel ? makeSummariseWithModel({ model: summaryModel, timeouts, stepTokens }) : summariseOffline;
  return runJobs({
    ...parts,
    queue: makeJobQueue(database),
    handlers: {
      summarise: summary
        ? makeSummariseConversation({
            summaries: makeSummaryStore(database),
            settings: { ...summary, historyWindow },
            summarise,
            stepTokens,
          })
        : SWITCHED_OFF,
      index_episodes: episodicMemory
        ? makeIndexEpisodes({
            episodes: makeEpisodeStore(database),
            index: episodicMemory.index,
            embedder: episodicMemory.embedder,
            timeZone: episodicMemory.timeZone,
          })
        : SWITCHED_OFF,
      erase_episodes: episodicMemory ? makeEraseEpisodes(episodicMemory.index) : SWITCHED_OFF,
    },
  });
}
