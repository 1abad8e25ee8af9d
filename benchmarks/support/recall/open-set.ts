import { openEpisodicMemory } from "../../../memory/episodes/open-episodic-memory.ts";
import { fillRoom } from "../../../memory/recall/fill-room.ts";
import { makeRecall, type Recall, type RecallRequest } from "../../../memory/recall/recall-episodes.ts";
import { runMemoryJobs } from "../../../memory/run-memory-jobs.ts";
import { waitUntilSettled } from "../../../memory/jobs/wait-until-settled.ts";
import type { Embedder } from "../../../models/embedder.ts";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeEpisodeStore } from "../../../stores/postgres/memory/episode-store.ts";
import { makeImportStore } from "../../../stores/postgres/conversations/import-store.ts";
import { migrate } from "../../../stores/postgres/database/migrate.ts";
import { ownerKey } from "../../../stores/index-keys.ts";
import type { ServingIndex } from "../../../stores/search/open-episode-index.ts";
import { lexicalQuery } from "../../../text/lexical-text.ts";
import { PGLITE, type Place } from "./places.ts";
import type { RecallHistory, RecallSet } from "./read-sets.ts";

/** How is searched. "BM25": without dates, neighbours' words and the question whether a hit is likely. */
export type Legs = "keywords" | "vectors" | "BM25" | "fused";

type Asked = Pick<RecallRequest, "tenantId" | "userId" | "question" | "limit" | "tokens">;

export type OpenedRecallSet = Awaited<ReturnType<typeof openRecallSet>>;

const TENANT = "default";
const TIME_ZONE = "UTC";
const SETTLE_MS = 3_600_000;
/** As many as a turn shows at most, and those whose neighbours it may show. */
const PLAIN = { hits: 24, besides: 6 };

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
  const episodes = makeEpisodeStore(database);
  const byWords = async ({ question, limit, tokens, ...owner }: Asked) => {
    const index = await memory.index.open(await memory.index.name());
    const filter = { ownerKey: ownerKey(owner.tenantId, owner.userId) };
    const hits = await index.searchWords(filter, lexicalQuery(question), Math.max(limit, PLAIN.hits));
    const pairs = hits.map(({ id, attributes }) => [id, String(attributes["answer_id"])] as const);
    const texts = await episodes.load(owner, pairs, PLAIN.besides);
    const found = hits.flatMap(({ id }) => texts.filter((text) => text.id === id).map((text) => ({ text })));
    return { episodes: fillRoom(found, { least: limit, tokens }).hits.map(({ hit, neighbours }) => ({ ...hit.text, neighbours })) };
  };
  const opened = opening.move();
  return {
    byWords,
    recall: (legs: Exclude<Legs, "BM25">, now: Date): Recall =>
      makeRecall({
        index: withLegs(memory.index, legs),
        episodes,
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
