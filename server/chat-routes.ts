import { Router, type Request, type Response } from "express";
import type { Logger } from "pino";
import { AppError } from "../errors/app-error.ts";
import type { ConversationGraph } from "../graph/build-graph.ts";
import { startTurn, type LastEvent, type RunningTurn } from "../graph/start-turn.ts";
import { assertKnowledgeBase } from "../nodes/routing/decide-route.ts";
import type { KnowledgeCatalog } from "../stores/knowledge-catalog.ts";
import { tenantOf } from "./authenticate.ts";
import { causeFacts, type CauseFacts } from "./cause-facts.ts";
import { parseChatRequest, type ChatRequest } from "./chat-request.ts";
import { sendEventStream } from "./event-stream.ts";
import type { Metrics } from "./metrics.ts";
import type { RunningTurns } from "./running-turns.ts";

export interface ChatRouteParts {
  graph: ConversationGraph;
  knowledge: KnowledgeCatalog;
  running: RunningTurns;
  maxMessageChars: number;
  heartbeatMs: number;
  metrics: Metrics;
  log: Logger;
}

/** One line for each turn, when it ends. */
function logEnd(log: Logger, turnId: string, { status, content }: LastEvent, causes: CauseFacts[]): void {
  if (status === "error") {
    log.warn({ turn_id: turnId, code: content.code, causes }, "turn failed");
    return;
  }
  const { conversation_id, timings, usage, degraded } = content;
  const { total_ms: ms, first_token_ms } = timings;
  log.info({ turn_id: turnId, conversation_id, ms, first_token_ms, tokens: usage.total_tokens, degraded }, "turn done");
}

/** `POST /api/v1/chat/stream` and `POST /api/v1/chat`: one turn, streamed or whole. */
export function chatRoutes({ graph, knowledge, running, maxMessageChars, heartbeatMs, metrics, log }: ChatRouteParts): Router {
  /** Checks everything that can be refused before the stream begins, then starts the turn. */
  async function begin(request: Request, response: Response): Promise<{ turn: RunningTurn; body: ChatRequest }> {
    running.assertOpen();
    const tenantId = tenantOf(response);
    const body = parseChatRequest(request.body, maxMessageChars);
    if (body.kb_prefix !== null) assertKnowledgeBase(body.kb_prefix, await knowledge.list(tenantId));
    const causes: CauseFacts[] = [];
    const turn = startTurn(
      graph,
      {
        tenantId,
        userId: body.user_id,
        sessionId: body.session_id,
        message: body.message,
        debug: body.debug,
        agentType: body.agent_type,
        requestedKbPrefix: body.kb_prefix,
      },
      { onBusy: body.on_busy, onError: (error) => causes.push(...causeFacts(error)) },
    );
    running.add(turn);
    void turn.ended.then((last) => {
      metrics.turnEnded(last);
      logEnd(log, turn.turnId, last, causes);
    });
    if (body.on_disconnect === "cancel") {
      // On a POST the request's own 'close' comes as soon as its body is read; the response's tells that the client left.
      const cancelIfLeft = (): void => {
        if (!response.writableFinished) turn.cancel(new AppError("turn_cancelled", "The client left before the end of the answer."));
      };
      if (response.closed) cancelIfLeft();
      else response.on("close", cancelIfLeft);
    }
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
