import { makeIndexEpisodes } from "../../../memory/episodes/index-episodes.ts";
import { makeHashedEmbedder } from "../../../models/hashed-embedder.ts";
import { makeArchiveStore } from "../../../stores/postgres/archive-store.ts";
import { makeEpisodeStore } from "../../../stores/postgres/episode-store.ts";
import { openPostgres } from "../../../stores/postgres/open-postgres.ts";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { openEpisodeIndex, type ServingIndex } from "../../../stores/search/open-episode-index.ts";
import type { SearchDocument, SearchIndex } from "../../../stores/search/search-index.ts";
import { generateDialogues } from "../dialogues/generate-dialogues.ts";
import { loadConversations } from "../dialogues/load-conversations.ts";
import { eightAtATime } from "./memory-users.ts";

/** Documents of one write to the index. */
const BATCH = 500;
const MESSAGES = 4;
/** A write of 500 documents; a turn's search may take 0.8 s. */
const TIMEOUT_MS = 30_000;

export interface UsersInBulk {
  /** What the service was started with, which must have migrated already. */
  environment: Record<string, string>;
  count: number;
  onProgress: (done: number) => void;
}

/** The same index, which writes many conversations' documents at once. */
function writeTogether(index: ServingIndex): { index: ServingIndex; writeRest: () => Promise<void> } {
  const waiting: SearchDocument[] = [];
  let opened: SearchIndex | undefined;
  const write = async (): Promise<void> => {
    const batch = waiting.splice(0);
    if (batch.length > 0) await opened?.upsert(batch);
  };
  return {
    index: {
      name: () => index.name(),
      async open(name) {
        opened ??= await index.open(name);
        return {
          ...opened,
          async upsert(documents) {
            waiting.push(...documents);
            if (waiting.length >= BATCH) await write();
          },
          flush: () => Promise.resolve(),
        };
      },
    },
    async writeRest() {
      await write();
      await opened?.flush();
    },
  };
}

/** Users `other-0`, `other-1`, … with a conversation of four messages each, written straight into the tables and, by the job's own code, into the index. */
export async function seedInBulk({ environment, count, onProgress }: UsersInBulk): Promise<void> {
  const { DATABASE_URL: url = "", MILVUS_ADDRESS: address } = environment;
  const [dialogue] = generateDialogues({ count: 1, turns: 200 });
  await loadConversations(url, dialogue?.exchanges ?? [], [{ user: "other", count, messages: MESSAGES, uncovered: null }]);
  if (address === undefined) return;
  await using opened = new AsyncDisposableStack();
  const database = await openPostgres(url);
  opened.defer(() => database.close());
  const store = await openMilvusSearchStore({ address, token: undefined, database: undefined }, { timeoutMs: TIMEOUT_MS });
  opened.defer(() => store.close());
  const embedder = makeHashedEmbedder({});
  const { index, writeRest } = writeTogether(await openEpisodeIndex({ database, store, embedder }));
  const indexing = makeIndexEpisodes({
    episodes: makeEpisodeStore(database),
    archive: makeArchiveStore(database),
    index,
    embedder,
    timeZone: "UTC",
  });
  const conversations = await database.query<{ id: string; userId: string }>({
    text: `select id, user_id as "userId" from conversations where user_id like 'other-%'`,
  });
  let done = 0;
  await eightAtATime(conversations.length, async (at) => {
    const { id: conversationId = "", userId = "" } = conversations[at] ?? {};
    const job = { kind: "index_episodes" as const, tenantId: "default", userId, conversationId };
    await indexing.step(job, AbortSignal.timeout(TIMEOUT_MS));
    onProgress(++done);
  });
  await writeRest();
}
