import express, { type Request, type Response, type Router } from "express";
import { v7 as uuidv7 } from "uuid";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import type { KnowledgeBaseStore } from "../../stores/postgres/knowledge/knowledge-base-store.ts";
import { assertUtf8, limitBody, requireJson } from "../http/read-body.ts";
import { callerOf } from "../auth/caller.ts";
import { parseChatRequest } from "../turns/chat-request.ts";
import { abortSignalOnClose } from "../http/event-stream.ts";
import type { Limits } from "../limits/open-limits.ts";
import type { Observing } from "../observe/open-observing.ts";
import type { Turns } from "../turns/open-turn.ts";
import type { Models } from "../start/open-models.ts";
import type { Stores } from "../start/open-stores.ts";
import type { Config } from "../start/config.ts";
import { answerTask, assertTaskFits, type TaskModel } from "./answer-task.ts";
import {
  type CompletionEvent,
  type CompletionFacts,
  toCompletionEvents,
  makeCompletionFrames,
  sendCompletionStream,
  wholeCompletion,
} from "./completion-stream.ts";
import { type CompletionRequest, userMessage, parseCompletionRequest, wantedStructure, CompletionBody } from "./completion-request.ts";
import { type FrontEndTask, detectFrontEndTask } from "./front-end-task.ts";
import { claimedUser, findSession, findUser } from "./user-and-session.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { PREFIX } from "../knowledge/knowledge-routes.ts";
import { makeRouter, operationGroup, route, jsonBody } from "../http/openapi/operation.ts";
import { Completion, CompletionChunk } from "./completion-stream.ts";
import { START_ERRORS, MODEL_ERRORS } from "../turns/chat-routes.ts";

const OpenAIModel = z.object({ id: z.string(), object: z.literal("model"), created: z.int(), owned_by: z.string() });
const OpenAIModelList = z.object({ object: z.literal("list"), data: z.array(OpenAIModel) });

export const openaiOperations = operationGroup({
  tag: "OpenAI's protocol",
  schemas: { CompletionBody, Completion, CompletionChunk, OpenAIModel, OpenAIModelList },
  routes: {
    createCompletion: route("POST /v1/chat/completions", "One turn, as OpenAI's clients ask for it", {
      details:
        "The last message is what the user says; history is the service's own. Requests of a front end for titles, tags and follow-ups are answered and never become memory.",
      headers: ["X-Session-Id", "X-User-Id"],
      body: jsonBody(CompletionBody),
      answers: {
        200: {
          what: "With `stream`, each `data:` line is one chunk; the last one is `[DONE]`.",
          content: { "application/json": Completion, "text/event-stream": CompletionChunk },
        },
      },
      errors: [...START_ERRORS, ...MODEL_ERRORS, "not_found", "turn_cancelled", "turn_superseded"],
    }),
    listModels: route("GET /v1/models", "The service as a model, and one for each knowledge base", { answer: OpenAIModelList }),
    getModel: route("GET /v1/models/*id", "One of them", { params: { id: z.string() }, answer: OpenAIModel, errors: ["not_found"] }),
  },
});

export interface OpenAIRouteParts {
  config: Config;
  stores: Stores;
  models: Models;
  turns: Turns;
  limits: Limits;
  observing: Observing;
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
export function openaiRoutes({ config, stores, models, turns, limits, observing, heartbeatMs }: OpenAIRouteParts): Router {
  const { MAX_MESSAGE_CHARS: maxMessageChars } = config;
  const { knowledgeBases } = stores;
  const taskModel: TaskModel = { model: models.chat, timeouts: models.timeouts, observer: observing.observer };
  const readBody = limitBody(MAX_BODY_BYTES, express.json({ limit: MAX_BODY_BYTES, verify: assertUtf8 }));
  const modelOf = (id: string, response: Response) => findModel(id, callerOf(response).tenantId, knowledgeBases);

  async function startTask(request: Request, response: Response, task: FrontEndTask, body: CompletionRequest): Promise<Answering> {
    const { tenantId, userId } = callerOf(response);
    const asked = { task, messages: body.messages, structured: wantedStructure(body) };
    assertTaskFits(asked, maxMessageChars);
    turns.registry.assertOpen();
    const permit = await limits.admitTask({ tenantId, userId: userId ?? claimedUser(request) });
    const signal = abortSignalOnClose(response, new AppError("turn_cancelled", "The client left before the end of the answer."));
    return { id: uuidv7(), batches: answerTask(taskModel, { ...asked, signal }, permit), headers: {} };
  }

  async function startTurn(request: Request, response: Response, body: CompletionRequest, kbPrefix: string | null): Promise<Answering> {
    const asked = {
      user_id: findUser(request, callerOf(response), body.user),
      session_id: findSession(request, body),
      message: userMessage(body),
      kb_prefix: kbPrefix,
      on_busy: "enqueue",
    };
    const source = await turns.open(request, response, parseChatRequest(asked, maxMessageChars));
    const { turnId } = source;
    return { id: turnId, batches: toCompletionEvents(source.eventBatches(abortSignalOnClose(response))), headers: { "x-turn-id": turnId } };
  }

  return makeRouter(openaiOperations, {
    async listModels(_request, response) {
      response.json({ object: "list", data: listModels(await knowledgeBases.list(callerOf(response).tenantId)).map(toModel) });
    },
    async getModel(request, response) {
      const id = [request.params["id"]].flat().join("/");
      response.json(toModel(await modelOf(id, response)));
    },
    createCompletion: [
      requireJson,
      readBody,
      limits.rates.ofUser(claimedUser),
      async (request, response) => {
        const body = parseCompletionRequest(request.body);
        const { kbPrefix } = await modelOf(body.model, response);
        const task = detectFrontEndTask(request, body);
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
      },
    ],
  });
}

/** The model that finds documents by itself; one more for each knowledge base answers from that one. */
const MODEL = "conversation-graph";
/** Clients want a time; models here have none: 2026-01-01. */
const CREATED = Date.UTC(2026, 0, 1) / 1_000;

export interface ModelEntry extends z.infer<typeof OpenAIModel> {
  /** The kb_prefix that this model asks for, null for none in particular. */
  kbPrefix: string | null;
}

function toEntry(kbPrefix: string | null): ModelEntry {
  const id = kbPrefix === null ? MODEL : `${MODEL}/${kbPrefix}`;
  return { id, object: "model", created: CREATED, owned_by: MODEL, kbPrefix };
}

/** The models of a tenant with these knowledge bases. */
export function listModels(bases: KnowledgeBase[]): ModelEntry[] {
  return [null, ...bases.map(({ prefix }) => prefix)].map(toEntry);
}

/** The model of this id. Throws AppError `not_found`, which names those that there are; only for that they are listed. */
export async function findModel(id: string, tenantId: string, bases: Pick<KnowledgeBaseStore, "find" | "list">): Promise<ModelEntry> {
  if (id === MODEL) return toEntry(null);
  const prefix = id.startsWith(`${MODEL}/`) ? id.slice(MODEL.length + 1) : "";
  if (PREFIX.test(prefix) && (await bases.find(tenantId, prefix))) return toEntry(prefix);
  const models = listModels(await bases.list(tenantId));
  const problem = `there is no model "${id.slice(0, 80)}"; there are ${models.map((model) => model.id).join(", ")}`;
  throw new AppError("not_found", `model: ${problem}`, { details: [{ field: "model", problem }] });
}
