import { type Request, type Response, Router } from "express";
import { AppError, toAppError } from "../../errors/app-error.ts";
import { assertKnowledgeBase, GENERAL } from "../../nodes/routing/route-by-words.ts";
import type { Stores } from "../start/open-stores.ts";
import type { Config } from "../start/config.ts";
import { tenantOf, withCallersUser } from "../auth/caller.ts";
import { parseChatRequest } from "./chat-request.ts";
import { BEGINNING, parseLastEventId, sendTurnStream } from "./turn-stream.ts";
import { abortSignalOnClose } from "../http/event-stream.ts";
import type { Turns } from "./open-turn.ts";
import type { TurnSource } from "./turn-source.ts";

export interface ChatRouteParts {
  config: Config;
  stores: Stores;
  turns: Turns;
  heartbeatMs: number;
}

/** Waits until the turn is let in. A refusal names no turn, unless nobody knows whether its message was stored. */
async function untilAccepted(source: TurnSource, response: Response): Promise<string> {
  try {
    return (await source.accepted).turnId;
  } catch (error) {
    const { code } = toAppError(error);
    if (code === "storage_unavailable" || code === "internal_error") response.set("x-turn-id", source.turnId);
    throw error;
  }
}

/** `POST /api/v1/chat/stream` and `POST /api/v1/chat`: one turn, streamed or whole. */
export function chatRoutes({ config, stores: { knowledgeBases }, turns, heartbeatMs }: ChatRouteParts): Router {
  /** Throws AppError `invalid_request`, which names the bases that there are; only for that they are listed. */
  async function assertKnown(tenantId: string, requested: string | null): Promise<void> {
    if (requested === null || requested === GENERAL || (await knowledgeBases.find(tenantId, requested))) return;
    assertKnowledgeBase(requested, await knowledgeBases.list(tenantId));
  }

  /** Checks everything that can be refused before the stream begins, then starts the turn, or finds the one of its Idempotency-Key. */
  async function begin(request: Request, response: Response): Promise<TurnSource> {
    const body = parseChatRequest(withCallersUser(response, request.body), config.MAX_MESSAGE_CHARS);
    await assertKnown(tenantOf(response), body.kb_prefix);
    return turns.open(request, response, body);
  }

  return Router()
    .post("/chat/stream", async (request, response) => {
      // A retry with its Idempotency-Key may say how much of the answer has come.
      const after = request.get("idempotency-key") === undefined ? BEGINNING : parseLastEventId(request.get("last-event-id"));
      const source = await begin(request, response);
      // A refusal is a plain HTTP error. Who waits in line gets the stream at once instead, whose heartbeats keep the connection.
      const turnId = source.waits ? source.turnId : await untilAccepted(source, response);
      await sendTurnStream(response, source, { turnId, heartbeatMs, flushHeaders: source.waits, after });
    })
    .post("/chat", async (request, response) => {
      const source = await begin(request, response);
      response.set("x-turn-id", await untilAccepted(source, response));
      const { status, content } = await source.last(abortSignalOnClose(response));
      if (status === "error") throw new AppError(content.code, content.message);
      response.json(content);
    });
}
