import { v7 as uuidv7 } from "uuid";
import type { ConversationState } from "../graph/state.ts";
import { LEG_LIMIT, makeRecall } from "../memory/recall/recall-episodes.ts";
import type { Embedder } from "../models/embedder.ts";
import { makeHashedEmbedder } from "../models/hashed-embedder.ts";
import { makeRetrieve } from "../nodes/retrieve.ts";
import { makeEpisodeStore } from "../stores/postgres/episode-store.ts";
import { makeImportStore } from "../stores/postgres/import-store.ts";
import { migrate } from "../stores/postgres/migrate.ts";
import { openEmbeddedPostgres } from "../stores/postgres/open-embedded-postgres.ts";
import type { Database } from "../stores/postgres/database.ts";
import { episodeGroupId } from "../stores/search/episode-group-id.ts";
import { lexicalQuery } from "../stores/search/lexical-query.ts";
import { lexicalText } from "../stores/search/lexical-text.ts";
import { openMilvusSearchStore } from "../stores/search/milvus/open-milvus-search-store.ts";
import { ownerKey } from "../stores/search/owner-key.ts";
import { openPostgresSearchStore } from "../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchDocument, SearchIndex, SearchStore } from "../stores/search/search-index.ts";
import { startMilvusServer, whyNoMilvus } from "../test/servers/milvus-server.ts";
import type { Exchange } from "./support/dialogues/dialogue.ts";
import { generateDialogues } from "./support/dialogues/generate-dialogues.ts";
import { printFigures } from "./support/print-figures.ts";
import type { Progress } from "./support/progress.ts";
import { retrieveFigures, retrievePlot, type MeasuredRetrieve, type RetrieveTimes } from "./support/recall/retrieve-figures.ts";
import { distribution } from "./support/statistics.ts";
import { writeResults } from "./support/write-results.ts";

const USERS = 1_000;
/** Episodes of all, and of the user who is measured: a user's share of 100,000 at every size, so that what grows is the others', and a heavy user. */
const SIZES = [
  { episodes: 1_000, own: 100 },
  { episodes: 10_000, own: 100 },
  { episodes: 100_000, own: 100 },
  { episodes: 10_000, own: 2_000 },
];
const MOST_OWN = 2_000;
const WARM_UP = 50;
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 200);
const DIMENSIONS = 384;
const BATCH = 500;
const OWNER = { tenantId: "bench", userId: "ada" };

const hashed = makeHashedEmbedder({ dimensions: DIMENSIONS });

async function toDocument(
  id: string,
  answerId: string,
  owner: string,
  conversationId: string,
  { user, assistant }: Exchange,
): Promise<SearchDocument> {
  const [embedding = []] = await hashed.embedPassages([user]);
  return {
    id,
    ownerKey: owner,
    groupId: episodeGroupId(conversationId),
    previousId: null,
    createdAt: new Date(),
    lexicalText: lexicalText(`${user}\n${assistant}`),
    embedding,
    attributes: { conversation_id: conversationId, answer_id: answerId, episode_type: "context", importance: 0.5 },
  };
}

/** The measured user's turns, imported so that their texts are in Postgres, as documents of the index. */
async function ownDocuments(database: Database, exchanges: Exchange[]): Promise<SearchDocument[]> {
  const messages = exchanges.slice(0, MOST_OWN).flatMap(({ user, assistant }) => [
    { role: "user" as const, content: user, createdAt: null, metadata: {} },
    { role: "assistant" as const, content: assistant, createdAt: null, metadata: {} },
  ]);
  const { conversationId } = await makeImportStore(database).import({ ...OWNER, sessionId: uuidv7(), messages, jobKinds: [] });
  const rows = await database.query<{ id: string; content: string }>({
    text: "select id, content from messages where conversation_id = $1 order by created_at, id",
    values: [conversationId],
  });
  const owner = ownerKey(OWNER.tenantId, OWNER.userId);
  const pairs = rows.flatMap((asked, at) => (at % 2 === 0 && rows[at + 1] ? [{ asked, answer: rows[at + 1] ?? asked }] : []));
  return Promise.all(
    pairs.map(({ asked, answer }) =>
      toDocument(asked.id, answer.id, owner, conversationId, { user: asked.content, assistant: answer.content }),
    ),
  );
}

/** An episode of one of the others. The texts repeat, each with a number of its own: words as in real talk, all different. */
function othersDocument(exchanges: Exchange[], number: number): Promise<SearchDocument> {
  const { user = "", assistant = "" } = exchanges[number % exchanges.length] ?? {};
  return toDocument(uuidv7(), uuidv7(), ownerKey("bench", `other-${number % USERS}`), uuidv7(), {
    user: `${user} case${number}`,
    assistant,
  });
}

/** Fills an index with `total` episodes, the measured user's spread evenly among those of the others, as they would lie after months. */
async function fill(
  index: SearchIndex,
  own: SearchDocument[],
  exchanges: Exchange[],
  total: number,
  tell: (written: number) => void,
): Promise<void> {
  const every = total / own.length;
  let ownWritten = 0;
  for (let count = 0; count < total; count += BATCH) {
    const documents: Promise<SearchDocument>[] = [];
    for (let number = count; number < Math.min(count + BATCH, total); number++) {
      const next = own[ownWritten];
      if (next && number >= ownWritten * every) {
        documents.push(Promise.resolve(next));
        ownWritten++;
      } else documents.push(othersDocument(exchanges, number));
    }
    await index.upsert(await Promise.all(documents));
    tell(count + documents.length);
  }
  await index.flush();
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function measure(database: Database, index: SearchIndex, questions: string[]): Promise<RetrieveTimes> {
  const vectors = new Map(await Promise.all(questions.map(async (question) => [question, await hashed.embedQuestion(question)] as const)));
  // The embedder's own time is left out: the vectors are there.
  const embedder: Embedder = { ...hashed, embedQuestion: async (question) => vectors.get(question) ?? hashed.embedQuestion(question) };
  const recall = makeRecall({
    index: { name: async () => "bench", open: async () => index },
    episodes: makeEpisodeStore(database),
    embedder,
    timeZone: "UTC",
    minSimilarity: hashed.minSimilarity ?? 0.5,
    onError: (error) => {
      throw error;
    },
  });
  const retrieve = makeRetrieve({ recall, findPassages: null, passages: 4, topK: 3, timeoutMs: 60_000, scope: "user" });
  const filter = { ownerKey: ownerKey(OWNER.tenantId, OWNER.userId) };
  const times: RetrieveTimes = { retrieveMs: [], wordsMs: [], vectorsMs: [] };
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const question = questions[(round + WARM_UP) % questions.length] ?? "";
    const state = { ...OWNER, conversationId: uuidv7(), message: question, recentMessages: [], error: null, hasEpisodes: true };
    const whole = await timed(async () => {
      const { degraded } = await retrieve(state as unknown as ConversationState, {});
      if ((degraded as string[]).length > 0) throw new Error("the retrieve node did not search wholly");
    });
    const words = await timed(() => index.searchWords(filter, lexicalQuery(question), LEG_LIMIT));
    const vector = await timed(() => index.searchVectors(filter, vectors.get(question) ?? [], LEG_LIMIT));
    if (round < 0) continue;
    times.retrieveMs.push(whole);
    times.wordsMs.push(words);
    times.vectorsMs.push(vector);
  }
  return times;
}

/** What the table of benchmarks/README.md has of a size. */
const toRow = ({ retrieveMs, wordsMs, vectorsMs, ...size }: MeasuredRetrieve) => {
  return { ...size, retrieveMs: distribution(retrieveMs), wordsMs: distribution(wordsMs), vectorsMs: distribution(vectorsMs) };
};

async function measureStore(
  name: string,
  database: Database,
  store: SearchStore,
  exchanges: Exchange[],
  progress: Progress,
): Promise<MeasuredRetrieve[]> {
  const documents = await ownDocuments(database, exchanges);
  const questions = exchanges.slice(0, 100).map(({ user }) => user.split(/(?<=[.?!])\s/)[0] ?? user);
  const rows: MeasuredRetrieve[] = [];
  for (const { episodes, own } of SIZES) {
    const index = await store.openIndex({
      name: `bench_${episodes}_${own}`,
      dimensions: DIMENSIONS,
      attributes: { conversation_id: "text", answer_id: "text", episode_type: "text", importance: "number" },
    });
    const tell = (written: number): void => progress.step(`${name}: episodes written`, written, episodes);
    await fill(index, documents.slice(0, own), exchanges, episodes, tell);
    progress.step(`${name}: asking ${episodes} episodes`);
    rows.push({ store: name, episodes, own, ...(await measure(database, index, questions)) });
  }
  return rows;
}

/** `npm run bench retrieve`: the retrieve node with 1,000 to 100,000 episodes in the index, the embedder's time apart. */
export async function benchRetrieve(progress: Progress): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const exchanges = generateDialogues({ count: 6, turns: 503 }).flatMap((dialogue) => dialogue.exchanges);
  const embedded = await openEmbeddedPostgres("memory://");
  opened.defer(() => embedded.close());
  await migrate(embedded);
  const rows = await measureStore("PGlite", embedded, await openPostgresSearchStore(embedded), exchanges, progress);

  const reason = await whyNoMilvus();
  if (reason) console.log(`Milvus Lite is left out: ${reason}`);
  else {
    const server = await startMilvusServer();
    opened.defer(() => server.remove());
    const store = await openMilvusSearchStore({ address: server.address }, { timeoutMs: 60_000 });
    opened.defer(() => store.close());
    rows.push(...(await measureStore("Milvus Lite", embedded, store, exchanges, progress)));
  }
  const figures = retrieveFigures(rows);
  const notes = [
    `The node as a turn runs it, without the embedder's own time; ${ROUNDS} questions of each size after ${WARM_UP}, as four runs one behind the other. The reference is the smallest index of the same store.`,
    `The others are ${USERS.toLocaleString("en")} users, whose episodes lie between those of the one who asks.`,
    ...(reason ? [`Milvus Lite was left out: ${reason}`] : []),
  ];
  printFigures(figures, notes);
  await writeResults("retrieve", { figures, plots: [retrievePlot(rows)], notes, users: USERS, rounds: ROUNDS, rows: rows.map(toRow) });
}
