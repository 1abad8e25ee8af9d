import express, { Router, type Request, type Response } from "express";
import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../errors/app-error.ts";
import type { KnowledgeBaseStore } from "../../stores/postgres/knowledge-base-store.ts";
import { assertUtf8 } from "../assert-utf8.ts";
import { callerOf } from "../caller.ts";
import { parseChatRequest } from "../chat-request.ts";
import { leavingOf } from "../leaving-of.ts";
import { bodyWithin } from "../limits/body-within.ts";
import type { RateLimits } from "../limits/rate-limits.ts";
import type { TaskLimits } from "../limits/task-limits.ts";
import type { OpenTurn } from "../open-turn.ts";
import type { RunningTurns } from "../running-turns.ts";
import { requireJson } from "../require-json.ts";
import { answerTask, assertTaskFits, type TaskModel } from "./answer-task.ts";
import { eventsOfTurn, type CompletionEvent } from "./completion-event.ts";
import { makeCompletionFrames, wholeCompletion, type CompletionFacts } from "./completion-frames.ts";
import { messageOfTurn, parseCompletionRequest, type CompletionRequest } from "./completion-request.ts";
import { frontEndTaskOf, type FrontEndTask } from "./front-end-task.ts";
import { findModel, listModels, type ModelEntry } from "./models.ts";
import { sendCompletionStream } from "./send-completion-stream.ts";
import { sessionOfCompletion } from "./session-of-completion.ts";
import { structuredAnswerOf } from "./structured-answer.ts";
import { namedUser, userOfCompletion } from "./user-of-completion.ts";

export interface OpenAIRouteParts {
  openTurn: OpenTurn;
  running: RunningTurns;
  knowledgeBases: KnowledgeBaseStore;
  rates: RateLimits;
  taskLimits: TaskLimits;
  taskModel: TaskModel;
  maxMessageChars: number;
  heartbeatMs: number;
}

/** Clients send the whole chat with every message, though only the last one is read. */
const MAX_BODY_BYTES = 10 * 1024 * 1024;

/** What a request is answered with, from the first event on. */
interface Answering {
  id: string;
  batches: AsyncIterable<CompletionEvent[]>;
  headers: Record<string, string>;
}

const seconds = (): number => Math.floor(Date.now() / 1_000);
const toModel = ({ id, object, created, owned_by }: ModelEntry) => ({ id, object, created, owned_by });

/** `POST /v1/chat/completions` and `GET /v1/models`: OpenAI's protocol, with the memory of the service. */
export function openaiRoutes(parts: OpenAIRouteParts): Router {
  const { openTurn, knowledgeBases, running, rates, taskLimits, taskModel, maxMessageChars, heartbeatMs } = parts;
  const readBody = bodyWithin(MAX_BODY_BYTES, express.json({ limit: MAX_BODY_BYTES, verify: assertUtf8 }));
  const modelOf = (id: string, response: Response) => findModel(id, callerOf(response).tenantId, knowledgeBases);

  async function startTask(request: Request, response: Response, task: FrontEndTask, body: CompletionRequest): Promise<Answering> {
    const { tenantId, userId } = callerOf(response);
    const asked = { task, messages: body.messages, structured: structuredAnswerOf(body) };
    assertTaskFits(asked, maxMessageChars);
    running.assertOpen();
    const limited = await taskLimits.begin({ tenantId, userId: userId ?? namedUser(request) });
    const signal = leavingOf(response, new AppError("turn_cancelled", "The client left before the end of the answer."));
    return { id: uuidv7(), batches: answerTask(taskModel, { ...asked, signal }, limited), headers: {} };
  }

  async function startTurn(request: Request, response: Response, body: CompletionRequest, kbPrefix: string | null): Promise<Answering> {
    const asked = {
      user_id: userOfCompletion(request, callerOf(response), body.user),
      session_id: sessionOfCompletion(request, body),
      message: messageOfTurn(body),
      kb_prefix: kbPrefix,
      on_busy: "enqueue",
    };
    const source = await openTurn(request, response, parseChatRequest(asked, maxMessageChars));
    const { turnId } = source;
    return { id: turnId, batches: eventsOfTurn(source.eventBatches(leavingOf(response))), headers: { "x-turn-id": turnId } };
  }

  return Router()
    .get("/models", async (_request, response) => {
      response.json({ object: "list", data: listModels(await knowledgeBases.list(callerOf(response).tenantId)).map(toModel) });
    })
    .get("/models/*id", async (request, response) => {
      const id = [request.params.id].flat().join("/");
      response.json(toModel(await modelOf(id, response)));
    })
    .post("/chat/completions", requireJson, readBody, rates.ofUser(namedUser), async (request, response) => {
      const body = parseCompletionRequest(request.body);
      const { kbPrefix } = await modelOf(body.model, response);
      const task = frontEndTaskOf(request, body);
      const { id, batches, headers } = task
        ? await startTask(request, response, task, body)
        : await startTurn(request, response, body, kbPrefix);
      const facts: CompletionFacts = { id: `chatcmpl-${id}`, model: body.model, created: seconds() };
      if (body.stream) {
        const frames = makeCompletionFrames(facts, body.stream_options?.include_usage === true);
        return sendCompletionStream(response, batches, { frames, headers, heartbeatMs });
      }
      const completion = await wholeCompletion(facts, batches);
      response.set(headers).json(completion);
    });
}
