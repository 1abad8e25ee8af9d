import { z } from "zod";
import { DEFAULT_SUMMARY } from "../../memory/summary/summarise-conversation.ts";
import { DEFAULT_TIMEOUTS } from "../../turn/deadlines.ts";
import { TURN_DEFAULTS } from "../../turn/context.ts";
import { agents } from "./agent-settings.ts";
import { limitsAndLogs } from "./limit-settings.ts";
import { listening } from "./listening-settings.ts";
import { chatModel, embeddings } from "./model-settings.ts";
import {
  decimalNumber,
  episodeTypes,
  hostAndPort,
  instructions,
  milliseconds,
  onOrOff,
  postgresUrl,
  sectionNames,
  timeZone,
  wholeNumber,
  contextShares,
} from "./setting-types.ts";

const conversations = {
  DATABASE_URL: postgresUrl
    .optional()
    .describe(
      "A Postgres 14 or later: `postgres://user:password@host:5432/database`. The search index is in it, with pgvector where it has that. Unset: an embedded database in DATA_DIR.",
    ),
  DATA_DIR: z.string().default("./.data").describe("The folder of the embedded database. `memory://` keeps nothing."),
  RETENTION_DAYS: wholeNumber(1, 36_500)
    .optional()
    .describe(
      "A conversation in which nothing has happened for this many days is erased with all that came of it, within an hour, unless it is pinned. Unset: never.",
    ),
  KEEP_DECISIONS_DAYS: wholeNumber(0, 36_500)
    .default(0)
    .describe(
      "An erase keeps for this many days who allowed which call of a tool, with its arguments, and when, as far as the law wants it. 0: nothing is kept.",
    ),
};

const index = {
  MILVUS_ADDRESS: hostAndPort.optional().describe("A Milvus 2.3 or later, for vectors: `host:port`. Unset: in the database."),
  MILVUS_TOKEN: z.string().optional().describe("`user:password` or a key of that Milvus."),
  MILVUS_DATABASE: z.string().optional().describe("The database in that Milvus."),
};

const prompt = {
  INSTRUCTIONS: instructions
    .optional()
    .describe(
      "What the model is told in every turn, behind the service's own system prompt: a role, a tone, what to leave out. At most 20,000 characters. Unset: nothing.",
    ),
  HISTORY_WINDOW: wholeNumber(0, 200)
    .default(DEFAULT_SUMMARY.historyWindow)
    .describe("At least this many of the last messages stand in the prompt word for word."),
  ENABLE_SUMMARY: onOrOff(true).describe(
    "Whether older messages are summarised. If not, they stay in the prompt as long as there is room.",
  ),
  SUMMARY_MIN_MESSAGES: wholeNumber(1, 10_000)
    .default(DEFAULT_SUMMARY.minMessages)
    .describe("The first summary is made when a conversation has this many messages."),
  SUMMARY_UPDATE_DELTA: wholeNumber(1, 10_000)
    .default(DEFAULT_SUMMARY.updateDelta)
    .describe("A new summary is made whenever this many more messages lie before the last HISTORY_WINDOW."),
  ENABLE_EPISODIC_MEMORY: onOrOff(true).describe(
    "Whether earlier exchanges are indexed and recalled. `false` switches documents off, too.",
  ),
  EPISODE_TOP_K: wholeNumber(1, 50)
    .default(TURN_DEFAULTS.topK)
    .describe("The least recalled exchanges in a prompt, where a question fits so many. More come while EPISODE_TOKENS has room."),
  EPISODE_TOKENS: wholeNumber(0, 100_000)
    .default(TURN_DEFAULTS.episodeTokens)
    .describe(
      "Recalled exchanges, and what was said right before and after them, fill so many tokens of a prompt, what is worth most first. In a small context they have at most half of what the other parts leave.",
    ),
  EPISODE_MIN_SIMILARITY: decimalNumber(-1, 1)
    .optional()
    .describe(
      "The cosine, from -1 to 1, below which an exchange without a word in common is not recalled, unless it is as near as the recalled ones are on average. Unset: as fits the embedder.",
    ),
  EPISODE_SCOPE: z
    .enum(["user", "conversation"], "must be user or conversation")
    .default(TURN_DEFAULTS.scope)
    .describe("`user` recalls from all conversations of the user, `conversation` only from the same one."),
  EPISODE_TYPES: episodeTypes
    .optional()
    .describe(
      "Only exchanges and archived memories of these types are recalled: some of `preference`, `decision`, `context` and `outcome`, joined by commas. Unset: all.",
    ),
  EPISODE_MAX_AGE_DAYS: wholeNumber(1, 36_500).optional().describe("Older exchanges are not recalled. Unset: of any age."),
  ENABLE_CORE_MEMORY: onOrOff(true).describe("Whether facts about a user are kept and stand in every prompt."),
  CORE_MEMORY_SECTIONS: sectionNames
    .optional()
    .describe(
      "More sections of core memory, besides profile, preferences, goals, relationships, constraints and instructions. Joined by commas.",
    ),
  KNOWLEDGE_TOP_K: wholeNumber(1, 50)
    .default(TURN_DEFAULTS.passages)
    .describe("At most this many passages of documents stand in a prompt."),
  ENABLE_KB_HANDLERS: onOrOff(true).describe("Whether a knowledge base that has a handler is answered by it."),
  KB_HANDLERS: z
    .string()
    .optional()
    .describe("A file of JavaScript with handlers that answer for knowledge bases, like `./handlers.js`: see docs/memory.md. Unset: none."),
  TIME_ZONE: timeZone.default("UTC").describe('The time zone in which "yesterday" and "last Tuesday" are understood.'),
  CONTEXT_TOKEN_BUDGET: wholeNumber(256)
    .optional()
    .describe(
      "Most tokens of one prompt. Unset: nine tenths of what the model takes besides its longest answer, as MODEL_PROFILES, its server or LangChain tell; of 8192 if nobody does.",
    ),
  CONTEXT_SHARES: contextShares
    .optional()
    .describe(
      "How the context is divided, in percent: instructions, history (core memory, summary, recalled exchanges, passages), recent messages, answer. What one does not need goes to the others. Unset: 10,50,25,15.",
    ),
};

const deadlines = {
  MODEL_FIRST_TOKEN_TIMEOUT_MS: milliseconds(1)
    .default(DEFAULT_TIMEOUTS.firstTokenMs)
    .describe("Longest wait for the model's first token."),
  MODEL_IDLE_TIMEOUT_MS: milliseconds(1).default(DEFAULT_TIMEOUTS.idleMs).describe("Longest wait between two tokens."),
  MODEL_QUEUE_TIMEOUT_MS: milliseconds(1)
    .default(DEFAULT_TIMEOUTS.queueMs)
    .describe("Longest wait for a token while the model's server says that it is still there."),
  MEMORY_READ_TIMEOUT_MS: milliseconds(1)
    .default(TURN_DEFAULTS.memoryReadTimeoutMs)
    .describe(
      "Longest time for each of core memory, routing by meaning, the router model, what a question points at by MEMORY_MODEL, if that is set, and the search of exchanges and passages (and as long again to read what was found). What takes longer is left out of the answer. Summary and window have no such limit: without them there is no answer.",
    ),
  TURN_LEASE_MS: milliseconds(1_000)
    .default(TURN_DEFAULTS.leaseMs)
    .describe("After this long, the conversation of a process that died takes turns again."),
  SHUTDOWN_GRACE_MS: milliseconds(0).default(10_000).describe("How long a stopping process lets running turns finish."),
};

/** `npm run docs` makes docs/configuration.md and .env.example of them. */
export const SETTINGS = {
  "Where it listens, and for whom": listening,
  "Where conversations are kept": conversations,
  "Where episodes and documents are indexed": index,
  "The chat model": chatModel,
  Embeddings: embeddings,
  "What the model sees": prompt,
  "Agents, their tools and questions": agents,
  "Deadlines, in milliseconds": deadlines,
  "Limits and logs": limitsAndLogs,
};

export const Environment = z.object({
  ...listening,
  ...conversations,
  ...index,
  ...chatModel,
  ...embeddings,
  ...prompt,
  ...agents,
  ...deadlines,
  ...limitsAndLogs,
});

export type Config = z.infer<typeof Environment>;
