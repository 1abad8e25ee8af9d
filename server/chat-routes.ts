import { Router, type Request, type Response } from "express";
import { AppError } from "../errors/app-error.ts";
import type { RunningTurn } from "../graph/start-turn.ts";
import { assertKnowledgeBase } from "../nodes/routing/decide-route.ts";
import type { KnowledgeCatalog } from "../stores/knowledge-catalog.ts";
import { tenantOf } from "./caller.ts";
import { makeBeginTurn, type BeginTurnParts } from "./begin-turn.ts";
import { parseChatRequest, type ChatRequest } from "./chat-request.ts";
import { sendEventStream } from "./event-stream.ts";
import { withUserOf } from "./user-of.ts";

export interface ChatRouteParts extends BeginTurnParts {
  knowledge: KnowledgeCatalog;
  maxMessageChars: number;
  heartbeatMs: number;
}

/** `POST /api/v1/chat/stream` and `POST /api/v1/chat`: one turn, streamed or whole. */
export function chatRoutes({ knowledge, maxMessageChars, heartbeatMs, ...parts }: ChatRouteParts): Router {
  const beginTurn = makeBeginTurn(parts);

  /** Checks everything that can be refused before the stream begins, then starts the turn. */
  async function begin(request: Request, response: Response): Promise<{ turn: RunningTurn; body: ChatRequest }> {
    const tenantId = tenantOf(response);
    const body = parseChatRequest(withUserOf(response, request.body), maxMessageChars);
    if (body.kb_prefix !== null) assertKnowledgeBase(body.kb_prefix, await knowledge.list(tenantId));
    const turn = await beginTurn(
      response,
      {
        tenantId,
        userId: body.user_id,
        sessionId: body.session_id,
        message: body.message,
        debug: body.debug,
        agentType: body.agent_type,
        requestedKbPrefix: body.kb_prefix,
      },
      { onBusy: body.on_busy, onDisconnect: body.on_disconnect },
    );
    return { turn, body };
  }

  return Router()
    .post("/chat/stream", async (request, response) => {
      const { turn, body } = await begin(request, response);
      // A refusal is a plain HTTP error. Whoever waits in line gets the stream at once instead: its heartbeats keep the connection.
      const waitsInLine = body.on_busy === "enqueue";
      if (!waitsInLine) await turn.accepted;
      await sendEventStream(response, turn.eventBatches(), { turnId: turn.turnId, heartbeatMs, headersAtOnce: waitsInLine });
    })
    .post("/chat", async (request, response) => {
      const { turn } = await begin(request, response);
      const { status, content } = await turn.ended;
      response.set("x-turn-id", turn.turnId);
      if (status === "error") throw new AppError(content.code, content.message);
      response.json(content);
    });
}
