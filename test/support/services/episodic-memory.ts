import { v7 as uuidv7 } from "uuid";
import type { JobHandler, Remaining } from "../../../memory/jobs/run-jobs.ts";
import { makeIndexEpisodes } from "../../../memory/episodes/index-episodes.ts";
import { type EpisodeIndex, openEpisodeIndex } from "../../../stores/search/open-episode-index.ts";
import { ownerKey } from "../../../stores/search/index-keys.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchHit, SearchIndex } from "../../../stores/search/search-index.ts";
import type { ConversationJob } from "../../../stores/jobs/job.ts";
import { makeArchiveStore } from "../../../stores/postgres/memory/archive-store.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { type EpisodeStore, makeEpisodeStore } from "../../../stores/postgres/memory/episode-store.ts";
import { makeImportStore } from "../../../stores/postgres/conversations/import-store.ts";
import { openTestEmbedded } from "../databases/databases.ts";
import { makeRecordingEmbedder, type RecordingEmbedder } from "../samples/recording-embedder.ts";
import type { OwnedConversation } from "../../../stores/owner.ts";

export type IndexHandler = JobHandler<ConversationJob<"index_episodes">>;

/** A message of the user, of the assistant, or of the user without an answer. */
export type Said = readonly [role: "user" | "assistant", content: string];

export interface ConversationOf {
  tenantId?: string;
  userId?: string;
  sessionId?: string;
  /** Of the first message; each is a minute after the one before. */
  at?: string;
}

/** Episodic memory over an embedded database, with the steps of the index job, without a queue. */
export interface TestEpisodicMemory {
  database: Database;
  index: EpisodeIndex;
  episodes: EpisodeStore;
  embedder: RecordingEmbedder;
  handler: IndexHandler;
  /** Stores messages in a conversation, of its own user unless told otherwise; they are completed. */
  store(said: readonly Said[], of?: ConversationOf): Promise<OwnedConversation>;
  step(conversation: OwnedConversation, handler?: IndexHandler): Promise<void>;
  remaining(conversation: OwnedConversation): Promise<Remaining>;
  /** Runs steps, as the queue does, until none is left; how many. Throws when that takes more than 50. */
  indexAll(conversation: OwnedConversation): Promise<number>;
  /** `store` and `indexAll`. */
  remember(said: readonly Said[], of?: ConversationOf): Promise<OwnedConversation>;
  opened(): Promise<SearchIndex>;
  /** What the index holds of an owner's conversation, in the order of time; its ids are looked up among all messages ever stored. */
  indexed(conversation: OwnedConversation): Promise<SearchHit[]>;
  messages(conversation: OwnedConversation): Promise<{ id: string; role: string; content: string; created_at: Date }[]>;
  /** Makes the messages with this content incomplete. */
  makeIncomplete(conversation: OwnedConversation, content: string): Promise<void>;
  close(): Promise<void>;
}

const MOST_STEPS = 50;

/** Turns as messages: question, answer, question, answer. */
export const exchanges = (...turns: readonly (readonly [string, string])[]): Said[] =>
  turns.flatMap(([asked, answer]): Said[] => [
    ["user", asked],
    ["assistant", answer],
  ]);

/** `given`: another database for everything but the index, which stays in an embedded one. */
export async function openTestEpisodicMemory(given?: Database): Promise<TestEpisodicMemory> {
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

  const memory: TestEpisodicMemory = {
    database,
    index,
    episodes,
    embedder,
    handler,
    opened,
    async store(said, { tenantId = "tenant", userId = uuidv7(), sessionId = uuidv7(), at = "2024-01-31T12:00:00Z" } = {}) {
      const messages = said.map(([role, content], number) => {
        return { role, content, createdAt: new Date(Date.parse(at) + number * 60_000), metadata: {} };
      });
      const { conversationId } = await imports.import({ tenantId, userId, sessionId, messages, jobKinds: [] });
      return { tenantId, userId, conversationId };
    },
    step: (conversation, by = handler) => by.step(toJob(conversation), new AbortController().signal),
    remaining: (conversation) => database.transaction((transaction) => handler.remaining(transaction, toJob(conversation), false)),
    async indexAll(conversation) {
      for (let count = 1; count <= MOST_STEPS; count++) {
        await memory.step(conversation);
        if ((await memory.remaining(conversation)) !== "more") return count;
      }
      throw new Error(`more is left to do after ${MOST_STEPS} steps`);
    },
    async remember(said, of) {
      const conversation = await memory.store(said, of);
      await memory.indexAll(conversation);
      return conversation;
    },
    async indexed({ tenantId, userId, conversationId }) {
      const ids = await embedded.query<{ id: string }>({ text: `select id from search."${await index.name()}"` });
      const hits = await (
        await opened()
      ).fetch(
        ownerKey(tenantId, userId),
        ids.map(({ id }) => id),
      );
      return hits
        .filter(({ attributes }) => attributes["conversation_id"] === conversationId)
        .sort((one, other) => one.createdAt.getTime() - other.createdAt.getTime());
    },
    messages: ({ conversationId }) =>
      database.query({
        text: "select id, role, content, created_at from messages where conversation_id = $1 order by created_at, id",
        values: [conversationId],
      }),
    async makeIncomplete({ conversationId }, content) {
      const text = "update messages set completed = false where conversation_id = $1 and content = $2";
      await database.query({ text, values: [conversationId, content] });
    },
    async close() {
      await database.close();
      if (given) await embedded.close();
    },
  };
  return memory;
}
