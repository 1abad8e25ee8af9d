import { Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import type { Recall } from "../../memory/recall/recall-episodes.ts";
import { tenantOf, userInPath } from "../auth/caller.ts";
import { parseRequest, parseUuid, storableText, wholeNumberField } from "../http/parse-request.ts";

/** The longest question, in characters. */
const MAX_QUERY_CHARACTERS = 4_000;
/** A person who searches waits longer than a turn may: this many times MEMORY_READ_TIMEOUT_MS. */
const PATIENCE = 5;

export const EpisodesQuery = z.object({
  query: storableText
    .refine((text) => text.trim() !== "", "is blank; say what to look for")
    .refine((text) => text.length <= MAX_QUERY_CHARACTERS, `has more than ${MAX_QUERY_CHARACTERS} characters`)
    .meta({ minLength: 1, maxLength: MAX_QUERY_CHARACTERS }),
  limit: wholeNumberField(1, 100).default(10),
  conversation_id: z.string("must be given once").optional(),
});

export interface EpisodeRouteParts {
  /** Null when episodic memory is switched off. */
  recall: Recall | null;
  memoryReadTimeoutMs: number;
}

/** `GET /users/:id/episodes?query=`: a user's earlier exchanges, ranked exactly as a turn would recall them. */
export function episodeRoutes({ recall, memoryReadTimeoutMs }: EpisodeRouteParts): Router {
  return Router().get("/users/:id/episodes", async (request, response) => {
    const userId = userInPath(request, response);
    const { query: question, limit, conversation_id } = parseRequest(EpisodesQuery, request.query);
    const conversationId = conversation_id === undefined ? undefined : parseUuid("conversation_id", conversation_id);
    if (!recall) throw new AppError("index_unavailable", "Episodic memory is switched off. Set ENABLE_EPISODIC_MEMORY=true.");
    const { episodes, degraded } = await recall({
      tenantId: tenantOf(response),
      userId,
      question,
      conversationId,
      limit,
      signal: AbortSignal.timeout(PATIENCE * memoryReadTimeoutMs),
    });
    response.json({
      episodes: episodes.map((episode) => ({
        id: episode.id,
        score: episode.score,
        conversation_id: episode.conversationId,
        user_message: episode.userMessage,
        assistant_message: episode.assistantMessage,
        episode_type: episode.episodeType,
        importance: episode.importance,
        created_at: episode.createdAt,
        message_ids: episode.messageIds,
        metadata: episode.externalIds.length > 0 ? { external_ids: episode.externalIds } : {},
      })),
      degraded: degraded ? ["episodic"] : [],
    });
  });
}
