import { v7 as uuidv7 } from "uuid";
import type { JobHandler } from "../../../memory/jobs/run-jobs.ts";
import { makeIndexEpisodes } from "../../../memory/episodes/index-episodes.ts";
import { openEpisodeIndex } from "../../../stores/search/open-episode-index.ts";
import { ownerKey } from "../../../stores/index-keys.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchHit, SearchIndex } from "../../../stores/search/contract/search-index.ts";
import type { ConversationJob } from "../../../stores/jobs/job.ts";
import { makeArchiveStore } from "../../../stores/postgres/memory/archive-store.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeEpisodeStore } from "../../../stores/postgres/memory/episode-store.ts";
import { makeImportStore } from "../../../stores/postgres/conversations/import-store.ts";
import { openTestEmbedded } from "../databases/databases.ts";
import { makeRecordingEmbedder } from "../samples/recording-embedder.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { useOpened } from "../use-opened.ts";

export type IndexHandler = JobHandler<ConversationJob<"index_episodes">>;

export type Said = readonly [role: "user" | "assistant", content: string];

export type TestEpisodicMemory = Awaited<ReturnType<typeof openTestEpisodicMemory>>;

const MOST_STEPS = 50;

export const exchanges = (...turns: readonly (readonly [string, string])[]): Said[] =>
  turns.flatMap(([asked, answer]): Said[] => [
    ["user", asked],
    ["assistant", answer],
  ]);

type ConversationOf = { tenantId?: string; userId?: string; sessionId?: string; at?: string };

/** The steps of the index job, without a queue, over an embedded database; with `given`, only the index is in that. */
export async function openTestEpisodicMemory(given?: Database) {
  const embedded = await openTestEmbedded();
  const database = given ?? embedded;
  const store = await openPostgresSearchStore(embedded);
  const embedder = makeRecordingEmbedder();
  const index = await openEpisodeIndex({ database, store, embedder });
  const episodes = makeEpisodeStore(database);
  const imports = makeImportStore(database);
  const handler = makeIndexEpisodes({ episodes, archive: makeArchiveStore(database), index, embedder, timeZone: "UTC" });
  const toJob = (conversation: OwnedConversation) => ({ kind: "index_episodes" as const, ...conversation });
  const opened = async (): Promise<SearchIndex> => index.open(await index.name());

  const memory = {
    database,
    index,
    episodes,
    embedder,
    handler,
    opened,
    /** Stores completed messages, each a minute after the one before, in a conversation of its own user unless told otherwise. */
    async store(said: readonly Said[], of: ConversationOf = {}): Promise<OwnedConversation> {
      const { tenantId = "tenant", userId = uuidv7(), sessionId = uuidv7(), at = "2024-01-31T12:00:00Z" } = of;
      const messages = said.map(([role, content], number) => {
        return { role, content, createdAt: new Date(Date.parse(at) + number * 60_000), metadata: {} };
      });
      const { conversationId } = await imports.import({ tenantId, userId, sessionId, messages, jobKinds: [] });
      return { tenantId, userId, conversationId };
    },
    step: (conversation: OwnedConversation, by: IndexHandler = handler) => by.step(toJob(conversation), new AbortController().signal),
    remaining: (conversation: OwnedConversation) =>
      database.transaction((transaction) => handler.remaining(transaction, toJob(conversation), false)),
    /** Runs steps, as the queue does, until none is left; how many. */
    async indexAll(conversation: OwnedConversation): Promise<number> {
      for (let count = 1; count <= MOST_STEPS; count++) {
        await memory.step(conversation);
        if ((await memory.remaining(conversation)) !== "more") return count;
      }
      throw new Error(`more is left to do after ${MOST_STEPS} steps`);
    },
    async remember(said: readonly Said[], of?: ConversationOf): Promise<OwnedConversation> {
      const conversation = await memory.store(said, of);
      await memory.indexAll(conversation);
      return conversation;
    },
    /** What the index holds of an owner's conversation, oldest first. */
    async indexed({ tenantId, userId, conversationId }: OwnedConversation): Promise<SearchHit[]> {
      const ids = await embedded.query<{ id: string }>({ text: `select id from search."${await index.name()}"` });
      const found = await opened();
      const hits = await found.fetch(
        ownerKey(tenantId, userId),
        ids.map(({ id }) => id),
      );
      return hits
        .filter(({ attributes }) => attributes["conversation_id"] === conversationId)
        .sort((one, other) => one.createdAt.getTime() - other.createdAt.getTime());
    },
    messages: ({ conversationId }: OwnedConversation) =>
      database.query<{ id: string; role: string; content: string; created_at: Date }>({
        text: "select id, role, content, created_at from messages where conversation_id = $1 order by created_at, id",
        values: [conversationId],
      }),
    async makeIncomplete({ conversationId }: OwnedConversation, content: string): Promise<void> {
      const text = "update messages set completed = false where conversation_id = $1 and content = $2";
      await database.query({ text, values: [conversationId, content] });
    },
    async close(): Promise<void> {
      await database.close();
      if (given) await embedded.close();
    },
  };
  return memory;
}

export const useTestEpisodicMemory = (...given: Parameters<typeof openTestEpisodicMemory>) =>
  useOpened(() => openTestEpisodicMemory(...given));
