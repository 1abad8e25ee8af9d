import { openEpisodicMemory } from "../../../memory/episodes/open-episodic-memory.ts";
import { makeRecall, type Recall } from "../../../memory/recall/recall-episodes.ts";
import { runMemoryJobs } from "../../../memory/run-memory-jobs.ts";
import { waitUntilSettled } from "../../../memory/jobs/wait-until-settled.ts";
import type { Embedder } from "../../../models/embedder.ts";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeEpisodeStore } from "../../../stores/postgres/memory/episode-store.ts";
import { makeImportStore } from "../../../stores/postgres/conversations/import-store.ts";
import { migrate } from "../../../stores/postgres/database/migrate.ts";
import type { ServingIndex } from "../../../stores/search/open-episode-index.ts";
import { PGLITE, type Place } from "./places.ts";
import type { RecallHistory, RecallSet } from "./read-sets.ts";

export type Legs = "keywords" | "vectors" | "fused";

export type OpenedRecallSet = Awaited<ReturnType<typeof openRecallSet>>;

const TENANT = "default";
const TIME_ZONE = "UTC";
const SETTLE_MS = 3_600_000;

export const ownerOf = (history: number): { tenantId: string; userId: string } => ({ tenantId: TENANT, userId: `user-${history}` });

function withLegs(index: ServingIndex, legs: Legs): ServingIndex {
  if (legs === "fused") return index;
  const silent = { [legs === "keywords" ? "searchVectors" : "searchWords"]: async () => [] };
  return { name: () => index.name(), open: async (name) => ({ ...(await index.open(name)), ...silent }) };
}

/** Imports each history of a set as its own user, by the service's jobs, into a place. */
export async function openRecallSet(
  { histories }: Pick<RecallSet, "histories">,
  embedder: Embedder,
  onProgress: (done: number) => void,
  place: Place = PGLITE,
) {
  await using opening = new AsyncDisposableStack();
  const { database, store } = await place.open(opening);
  await migrate(database);
  const memory = await openEpisodicMemory({ database, store, embedder, timeZone: TIME_ZONE });
  const failures: unknown[] = [];
  const onRun = ({ error }: { error?: Error }) => error && failures.push(error);
  const jobs = await runMemoryJobs({ database, summaryModel: null, summary: null, episodicMemory: memory, onRun });
  opening.defer(() => jobs.stop(1_000));
  const [imports, overview] = [makeImportStore(database), makeJobOverview(database)];

  async function bringIn({ messages }: RecallHistory, position: number): Promise<void> {
    const request = { ...ownerOf(position), sessionId: "all", messages, jobKinds: ["index_episodes"] } as const;
    const { conversationId, skipped } = await imports.import(request);
    const pending = await waitUntilSettled({ overview, conversation: { ...ownerOf(position), conversationId }, timeoutMs: SETTLE_MS });
    if (failures.length > 0) throw new Error("An indexing job failed.", { cause: failures[0] });
    if (skipped + pending > 0) throw new Error(`User ${position}: ${skipped} messages were skipped, ${pending} jobs are not done.`);
  }

  for (const [position, history] of histories.entries()) {
    await bringIn(history, position);
    onProgress(position + 1);
  }
  const opened = opening.move();
  return {
    recall: (legs: Legs, now: Date): Recall =>
      makeRecall({
        index: withLegs(memory.index, legs),
        episodes: makeEpisodeStore(database),
        embedder,
        timeZone: TIME_ZONE,
        // Alone, vectors are judged by their order, not by the floor.
        minSimilarity: legs === "vectors" ? -1 : undefined,
        now: () => now,
        onError: (error) => {
          throw error;
        },
      }),
    [Symbol.asyncDispose]: (): Promise<void> => opened.disposeAsync(),
  };
}
