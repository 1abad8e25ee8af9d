import type { Router } from "express";
import { NIL } from "uuid";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { tenantOf, userInPath } from "../../auth/caller.ts";
import type { Config } from "../../settings/config.ts";
import type { Memory } from "../../parts/open-memory.ts";
import type { Stores } from "../../parts/open-stores.ts";
import { parseRequest, parseUuid, storableText, wholeNumberField, callerId } from "../../http/parse-request.ts";
import { makeRouter, operationGroup, route, type Sent, time, next } from "../../http/operation.ts";
import type { RecallRequest } from "../../../memory/recall/recall-episodes.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { cutPage } from "../../../stores/page.ts";
import type { Neighbour } from "../../../memory/recall/fill-room.ts";
import { civilDay, startOfDay } from "../../../text/days.ts";
import { EpisodeType, Layer } from "../../../turn/state.ts";

const MAX_QUERY_CHARACTERS = 4_000;
const MOST_EPISODES = 100;
/** A person waits longer than a turn: this many times MEMORY_READ_TIMEOUT_MS. */
const PATIENCE = 5;

const dayOrTime = z.union(
  [z.iso.date(), z.iso.datetime({ offset: true })],
  "must be a day, like 2026-11-24, or a time, like 2026-11-24T09:30:00Z",
);

/** The first moment of a day or time; with `isEnd` the first one after it. */
function momentOf(given: string | undefined, timeZone: string, { isEnd = false } = {}): Date | undefined {
  if (given === undefined) return undefined;
  const [, year, month, day] = /^(\d+)-(\d+)-(\d+)$/.exec(given) ?? [];
  if (day !== undefined) return startOfDay(civilDay(Number(year), Number(month), Number(day)) + (isEnd ? 1 : 0), timeZone);
  return new Date(Date.parse(given) + (isEnd ? 1 : 0));
}

const EpisodesQuery = z.object({
  query: storableText
    .refine((text) => text.trim() !== "", "is blank; say what to look for")
    .refine((text) => text.length <= MAX_QUERY_CHARACTERS, `has more than ${MAX_QUERY_CHARACTERS} characters`)
    .meta({ minLength: 1, maxLength: MAX_QUERY_CHARACTERS }),
  limit: wholeNumberField(1, MOST_EPISODES).default(10).describe("Of all pages together."),
  after: wholeNumberField(0, MOST_EPISODES).default(0).describe("The `next` of the page before."),
  conversation_id: z.string("must be given once").optional().describe("Searches this conversation alone, unless `scope` says otherwise."),
  episode_type: z
    .enum(EpisodeType.options, `must be one of ${EpisodeType.options.join(", ")}`)
    .optional()
    .describe("Searches this type alone. Without it those that a turn recalls: EPISODE_TYPES."),
  from: dayOrTime.describe("Nothing said before this day or time. A day is one of TIME_ZONE.").optional(),
  to: dayOrTime.describe("Nothing said after this day or time.").optional(),
  scope: z
    .enum(["conversation", "user"])
    .optional()
    .describe(
      "`user` with `conversation_id` searches all of the user's exchanges as the next turn of that conversation would: its recent messages take part in the question, and what is still in its window is left out.",
    ),
});

const Exchange = z.object({
  id: z.uuid(),
  user_message: z.string().describe("Empty of an imported answer to nothing."),
  assistant_message: z.string().describe("Empty of an imported message without an answer, and of an archived memory."),
  created_at: time,
  message_ids: z.array(z.uuid()),
  metadata: z.object({ external_ids: z.array(z.string()).optional() }),
});
const EpisodeList = z.object({
  episodes: z.array(
    Exchange.extend({
      score: z.number().describe("Comparable within one search only."),
      similarity: z
        .number()
        .nullable()
        .describe("The cosine of query and exchange, comparable between searches of one embedder; null when its words alone brought it."),
      conversation_id: z.uuid(),
      episode_type: EpisodeType,
      importance: z.number(),
      neighbours: z
        .array(Exchange)
        .describe(
          "What was said right before and after it within an hour, as a prompt has it beside it, if there is room. Without what is itself in the list.",
        ),
    }),
  ),
  degraded: z.array(Layer),
  next,
});

export const episodeOperations = operationGroup({
  tag: "memory",
  schemas: { EpisodeList },
  routes: {
    findEpisodes: route("GET /api/v1/users/:id/episodes", "A user's earlier exchanges, ranked exactly as a turn would recall them", {
      params: { id: callerId },
      query: EpisodesQuery,
      answer: EpisodeList,
      errors: ["not_found", "index_unavailable", "embedder_unavailable"],
    }),
  },
});

function toExchange({ id, userMessage, assistantMessage, createdAt, messageIds, externalIds }: Neighbour): Sent<z.output<typeof Exchange>> {
  return {
    id,
    user_message: userMessage,
    assistant_message: assistantMessage,
    created_at: createdAt,
    message_ids: messageIds,
    metadata: externalIds.length > 0 ? { external_ids: externalIds } : {},
  };
}

export function episodeRoutes({ config, memory, stores }: { config: Config; memory: Memory; stores: Pick<Stores, "windows"> }): Router {
  const recall = memory.episodes?.memory.recall;
  const window = { exceptMessageId: NIL, atLeast: config.HISTORY_WINDOW, maxTokens: 0, useSummary: config.ENABLE_SUMMARY };

  /** The search parameters that the next turn of a conversation would have. */
  async function readTalk(conversation: OwnedConversation): Promise<Pick<RecallRequest, "recent" | "except">> {
    const { messages } = await stores.windows.load({ ...conversation, ...window });
    return { recent: messages, except: new Set(messages.map(({ id }) => id)) };
  }

  return makeRouter(episodeOperations, {
    async findEpisodes(request, response) {
      const owner = { tenantId: tenantOf(response), userId: userInPath(request, response) };
      const { query: question, limit, after, conversation_id, scope, episode_type, ...span } = parseRequest(EpisodesQuery, request.query);
      const { TIME_ZONE: timeZone } = config;
      const [from, until] = [momentOf(span.from, timeZone), momentOf(span.to, timeZone, { isEnd: true })];
      if (from && until && from >= until) throw AppError.invalid([{ field: "to", problem: `"${span.to}" is before "${span.from}"` }]);
      const conversationId = conversation_id === undefined ? undefined : parseUuid("conversation_id", conversation_id);
      if (scope === "conversation" && conversationId === undefined) {
        throw AppError.invalid([{ field: "conversation_id", problem: "is missing; name the conversation that is searched" }]);
      }
      if (!recall) throw new AppError("index_unavailable", "Episodic memory is switched off. Set ENABLE_EPISODIC_MEMORY=true.");
      const signal = AbortSignal.timeout(PATIENCE * config.MEMORY_READ_TIMEOUT_MS);
      const within = scope === "user" && conversationId !== undefined ? await readTalk({ ...owner, conversationId }) : { conversationId };
      const { episodes, degraded } = await recall({
        ...owner,
        question,
        ...within,
        episodeTypes: episode_type && [episode_type],
        from,
        until,
        limit,
        signal,
      });
      const { items, next } = cutPage(episodes.slice(after), limit, (last) => String(episodes.indexOf(last) + 1));
      response.json({
        episodes: items.map((episode) => ({
          ...toExchange(episode),
          score: episode.score,
          similarity: episode.similarity,
          conversation_id: episode.conversationId,
          episode_type: episode.episodeType,
          importance: episode.importance,
          neighbours: episode.neighbours.map(toExchange),
        })),
        degraded: degraded ? ["episodic"] : [],
        next,
      });
    },
  });
}
