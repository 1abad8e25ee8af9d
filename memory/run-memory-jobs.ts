import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AnswerTimeouts, DEFAULT_TIMEOUTS } from "../turn/deadlines.ts";
import { gatherPassages } from "../models/embedder.ts";
import { contextTokenBudget } from "../models/openai-chat-model.ts";
import { NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import { makeJobQueue } from "../stores/jobs/job-queue.ts";
import { makeArchiveStore } from "../stores/postgres/memory/archive-store.ts";
import { backgroundDatabase } from "../stores/postgres/database/database-decorators.ts";
import { makeChunkStore } from "../stores/postgres/knowledge/chunk-store.ts";
import { makeCoreMemoryStore } from "../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../stores/postgres/database/database.ts";
import { makeEpisodeStore } from "../stores/postgres/memory/episode-store.ts";
import { makeEraseStore } from "../stores/postgres/erase/erase-store.ts";
import { makeErasureStore } from "../stores/postgres/erase/erasure-store.ts";
import { makeFollowPaths } from "../stores/postgres/memory/follow-paths.ts";
import { makeSummaryStore } from "../stores/postgres/memory/summary-store.ts";
import { makeUnreadStore } from "../stores/postgres/memory/unread-store.ts";
import { DEFAULT_SECTIONS } from "./core/tool-schemas.ts";
import { decideByRules } from "./core/decide-by-rules.ts";
import { makeDecideWithModel } from "./core/decide-with-model.ts";
import { makeRememberTurns } from "./core/remember-turns.ts";
import { makeIndexEpisodes } from "./episodes/index-episodes.ts";
import { makeErase } from "./erase/erase.ts";
import { erasesByTime, makeEraseUnused } from "./erase/erase-unused.ts";
import { makeEraseJob, makeSweepIndex, makeSweepIndexJob, makeVacuumJob } from "./erase/erase-jobs.ts";
import { type JobHandler, runJobs, type RunJobsParts, type RunningJobs } from "./jobs/run-jobs.ts";
import type { EpisodicMemory } from "./episodes/open-episodic-memory.ts";
import { makeIngestDocument, makeIngestWithoutIndex } from "./documents/ingest-document.ts";
import { makeDivideWithModel } from "./summary/divide-summary.ts";
import {
  DEFAULT_SUMMARY,
  makeSummariseConversation,
  type SummariseConversationParts,
  type SummarySettings,
} from "./summary/summarise-conversation.ts";
import { makeTitleConversation } from "./title/title-conversation.ts";
import { makeTitleStore } from "../stores/postgres/conversations/title-store.ts";
import { offlineParts } from "../models/offline/offline-parts.ts";
import { summariseOffline } from "../models/offline/offline-summary.ts";
import { ASKED_SUMMARY_TOKENS, makeSummariseWithModel } from "./summary/summarise-with-model.ts";
import type { TellQuestionJob } from "../stores/jobs/job.ts";

/** `historyWindow` and `summary` must be those of the graph. */
export interface MemoryJobsParts extends Pick<RunJobsParts, "onRun" | "onError" | "concurrency" | "pollMs" | "observer" | "within"> {
  /** Migrated. */
  database: Database;
  /** Null: the built-in summariser. */
  summaryModel: BaseChatModel | null;
  /** Default 6. */
  historyWindow?: number;
  /** Null: no summaries. Default 10 and 5. */
  summary?: { minMessages: number; updateDelta: number } | null;
  /** Null: turns are not indexed; ingest and sweep jobs wait for a process with an index. */
  episodicMemory?: Pick<EpisodicMemory, "index" | "embedder" | "timeZone" | "recall"> | null;
  /** Names conversations after their first exchange. Null: the first words do. Default null. */
  titleModel?: BaseChatModel | null;
  /** Null: rules for the clear cases update core memory. */
  memoryModel?: BaseChatModel | null;
  /** Null: nothing updates core memory. `sections` may be written; default: the five built-in ones. */
  coreMemory?: { sections?: readonly string[] } | null;
  /** Erases unpinned conversations after so many days without activity. Null: none. Default null. */
  retentionDays?: number | null;
  /** An erase keeps decisions of so many days, without their words. Default 0. */
  keepDecisionsDays?: number;
  /** Notifies of a question. Default null: nobody is told. */
  tellQuestion?: ((job: TellQuestionJob, signal: AbortSignal) => Promise<void>) | null;
  /** Milliseconds since the last request: an embedded database is vacuumed in quiet times. Default: for ever. */
  quietMs?: () => number;
  /** Default 30 seconds each. */
  timeouts?: AnswerTimeouts;
}

/** Jobs that waited longer no longer yield to turns (embedded database). */
const LATE_MS = 3_000;

/** The most tokens of messages that a summary of a few hundred words can cover. */
const MAX_STEP_TOKENS = 6_000;

/** Ends jobs of a layer that is off. When it is on again, the next job does what was missed. */
const SWITCHED_OFF: JobHandler = { step: async () => undefined, remaining: async () => "nothing" };

/** A third of the model's prompt. The earlier summary or the sections, the instructions and one overlong message share the rest. */
function stepTokensFor(model: BaseChatModel | null): number {
  if (!model) return MAX_STEP_TOKENS;
  return Math.min(MAX_STEP_TOKENS, Math.max(ASKED_SUMMARY_TOKENS, Math.floor(contextTokenBudget(model) / 3)));
}

interface SummaryPartsOptions {
  database: Database;
  settings: SummarySettings;
  /** Null: the built-in summariser. */
  model: BaseChatModel | null;
  timeouts: AnswerTimeouts;
  observer: Observer;
}

export function summaryParts({ database, settings, model, timeouts, observer }: SummaryPartsOptions): SummariseConversationParts {
  const stepTokens = stepTokensFor(model);
  return {
    summaries: makeSummaryStore(database),
    settings,
    summarise: model ? makeSummariseWithModel({ model, timeouts, stepTokens, observer }) : summariseOffline,
    divide: model
      ? makeDivideWithModel({ model, timeouts, stepTokens, observer })
      : async ({ parts, messages }) => offlineParts(parts, messages),
    stepTokens,
  };
}

/**
 * Runs the background jobs of finished turns in this process. Several processes may share a database. Throws when the database is
 * unreachable at first; later failures go to `onRun` and `onError`.
 */
export async function runMemoryJobs(parts: MemoryJobsParts): Promise<RunningJobs> {
  let waitedMs = 0;
  const database = parts.database.isEmbedded ? backgroundDatabase(parts.database, () => waitedMs > LATE_MS) : parts.database;
  const queue = makeJobQueue(database);
  const { summaryModel, historyWindow = DEFAULT_SUMMARY.historyWindow, summary = DEFAULT_SUMMARY } = parts;
  const { timeouts = DEFAULT_TIMEOUTS, episodicMemory = null, memoryModel = null, coreMemory = {}, observer = NOOP_OBSERVER } = parts;
  const readingTokens = stepTokensFor(memoryModel); // and as many for the sections
  const chunks = makeChunkStore(database);
  const index = episodicMemory?.index ?? null;
  const sweepIndex = makeSweepIndex(index, database);
  const { retentionDays = null, keepDecisionsDays = 0 } = parts;
  // A waiting job keeps its time.
  if (erasesByTime({ retentionDays, keepDecisionsDays }))
    await queue.transaction((_transaction, jobs) => jobs.add([{ kind: "erase_unused" }]));
  return runJobs({
    ...parts,
    queue: {
      ...queue,
      async claim(limit) {
        const claimed = await queue.claim(limit);
        // An empty look says nothing about jobs at work.
        if (claimed.length > 0) waitedMs = Math.max(...claimed.map(({ dueAt }) => Date.now() - dueAt.getTime()));
        return claimed;
      },
    },
    handlers: {
      summarise: summary
        ? makeSummariseConversation(
            summaryParts({ database, settings: { ...summary, historyWindow }, model: summaryModel, timeouts, observer }),
          )
        : SWITCHED_OFF,
      index_episodes: episodicMemory
        ? makeIndexEpisodes({
            episodes: makeEpisodeStore(database),
            archive: makeArchiveStore(database),
            index: episodicMemory.index,
            embedder: gatherPassages(episodicMemory.embedder),
            timeZone: episodicMemory.timeZone,
          })
        : SWITCHED_OFF,
      remember: coreMemory
        ? makeRememberTurns({
            unread: makeUnreadStore(database),
            followPaths: makeFollowPaths(database),
            coreMemory: makeCoreMemoryStore(database),
            decide: memoryModel ? makeDecideWithModel({ model: memoryModel, timeouts, readingTokens, observer }) : decideByRules,
            sections: coreMemory.sections ?? DEFAULT_SECTIONS,
            readingTokens,
            recall: episodicMemory?.recall ?? null,
            observer,
          })
        : SWITCHED_OFF,
      title: parts.titleModel
        ? makeTitleConversation({ titles: makeTitleStore(database), model: parts.titleModel, timeouts, observer })
        : SWITCHED_OFF,
      ingest: episodicMemory
        ? makeIngestDocument({ chunks, index: episodicMemory.index.chunks, embedder: episodicMemory.embedder })
        : makeIngestWithoutIndex(chunks),
      erase: makeEraseJob({ erasures: makeErasureStore(database, queue), sweepIndex }),
      erase_episodes: makeSweepIndexJob(sweepIndex, queue),
      erase_unused: makeEraseUnused({
        database,
        erase: makeErase(makeEraseStore(database, queue, undefined, keepDecisionsDays), index),
        ...{ retentionDays, keepDecisionsDays, observer },
      }),
      tell_question: parts.tellQuestion
        ? { step: parts.tellQuestion, remaining: async (_transaction, _job, stepFailed) => (stepFailed ? "more" : "nothing") }
        : SWITCHED_OFF,
      vacuum: makeVacuumJob(database, parts.quietMs ?? (() => Infinity)),
    },
  });
}
