import type { Request, RequestHandler, Response, Router } from "express";
import { v7 as uuidv7 } from "uuid";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { combineObservers } from "../../observe/observer.ts";
import type { OpenAIParts } from "./openai-parts.ts";
import type { Config } from "../settings/config.ts";
import type { ReadLargeJson } from "../http/read-body.ts";
import { fittingPage } from "../../stores/page.ts";
import { requireJson } from "../http/read-body.ts";
import { callerOf } from "../auth/caller.ts";
import { abortSignalOnClose } from "../http/event-stream.ts";
import { answerTask, assertTaskFits, type TaskModel } from "./answer-task.ts";
import {
  Completion,
  CompletionChunk,
  type CompletionEvent,
  type CompletionFacts,
  sendCompletionStream,
  toCompletionEvents,
  wholeCompletion,
} from "./completion-stream.ts";
import { CompletionBody, type CompletionRequest, wantedStructure } from "./completion-request.ts";
import { detectFrontEndTask, type FrontEndTask } from "./front-end-task.ts";
import { firstChoice } from "../../models/model-choice.ts";
import { makeOfferedModels, type OfferedModel, OpenAIModel } from "./offered-models.ts";
import { toSampling } from "./sampling.ts";
import { findSession, isTemporary } from "./user-and-session.ts";
import { claimedUser, findUser } from "../turns/named-user.ts";
import { makeOpenTurn } from "./openai-turn.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../http/operation.ts";
import { parseRequest } from "../http/parse-request.ts";
import { MODEL_ERRORS, START_ERRORS } from "../api/turns/chat-routes.ts";

const OpenAIModelList = z.object({ object: z.literal("list"), data: z.array(OpenAIModel) });

export const openaiOperations = operationGroup({
  tag: "OpenAI's protocol",
  schemas: { CompletionBody, Completion, CompletionChunk, OpenAIModel, OpenAIModelList },
  routes: {
    createCompletion: route("POST /v1/chat/completions", "One turn, as OpenAI's clients ask for it", {
      details:
        "The last message is what the user says; history is the service's own. Messages of `system` and `developer` tell the model what your application wants of it in this turn; they are no memory. When it is the conversation's last answer, the service goes on with that answer. Requests of a front end for titles, tags and follow-ups are answered and never become memory.",
      headers: ["X-Session-Id", "X-User-Id", "X-Interactive", "X-Branching"],
      body: jsonBody(CompletionBody),
      answers: {
        200: {
          what: "With `stream`, each `data:` line is one chunk; the last one is `[DONE]`.",
          content: { "application/json": Completion, "text/event-stream": CompletionChunk },
        },
      },
      errors: [...START_ERRORS, ...MODEL_ERRORS, "not_found", "turn_cancelled", "turn_superseded"],
    }),
    listModels: route("GET /v1/models", "The service as a model, one for each knowledge base and agent, and those of MODELS", {
      details: "As many as fit into 4 MiB. `GET /v1/models/{id}` and turns know the others, too.",
      answer: OpenAIModelList,
    }),
    getModel: route("GET /v1/models/*id", "One of them", { params: { id: z.string() }, answer: OpenAIModel, errors: ["not_found"] }),
  },
});

/** Clients send the whole chat with every message. */
export const MAX_BODY_BYTES = 10 * 1024 * 1024;
/** And all its pictures. */
const MAX_BYTES_WITH_PICTURES = 64 * 1024 * 1024;

export const readTurnJson = ({ config, readLargeJson }: { config: Config; readLargeJson: ReadLargeJson }): RequestHandler =>
  readLargeJson({ limitBytes: config.MAX_PICTURES === 0 ? MAX_BODY_BYTES : MAX_BYTES_WITH_PICTURES, ordinaryBytes: MAX_BODY_BYTES });

interface Answering {
  id: string;
  batches: AsyncIterable<CompletionEvent[]>;
  headers: Record<string, string>;
}

const seconds = (): number => Math.floor(Date.now() / 1_000);

export function openaiRoutes(parts: OpenAIParts): Router {
  const { config, models, turns, limits, meter, observing, heartbeatMs } = parts;
  const { MAX_MESSAGE_CHARS: maxMessageChars } = config;
  const offered = makeOfferedModels(parts);
  const openTurn = makeOpenTurn(parts);
  const modelOf = (id: string, response: Response) => offered.find(callerOf(response).tenantId, id);

  async function startTask(
    request: Request,
    response: Response,
    { task, body, offer }: { task: FrontEndTask; body: CompletionRequest; offer: OfferedModel },
  ): Promise<Answering> {
    const chosen = offer.model === null ? models.chat : firstChoice(models.choose({ model: offer.model, agent: null })).model;
    const taskModel: TaskModel = {
      model: chosen,
      timeouts: models.timeouts,
      observer: combineObservers(observing.observer, meter.observer),
    };
    const { tenantId, userId } = callerOf(response);
    const asked = { task, messages: body.messages, structured: wantedStructure(body), modelOptions: toSampling(body) };
    assertTaskFits(asked, maxMessageChars);
    turns.registry.assertOpen();
    const owner = { tenantId, userId: userId ?? claimedUser(request) };
    const permit = await limits.admitTask(owner);
    const signal = abortSignalOnClose(response, new AppError("turn_cancelled", "The client left before the end of the answer."));
    return { id: uuidv7(), batches: meter.countFor(owner, () => answerTask(taskModel, { ...asked, signal }, permit)), headers: {} };
  }

  async function startTurn(request: Request, response: Response, body: CompletionRequest, offer: OfferedModel): Promise<Answering> {
    const userId = findUser(request, callerOf(response), body);
    const session = findSession(request, body);
    const place = isTemporary(session) ? { session: null, store: false } : { session, store: true };
    const { source, leg, ...asked } = await openTurn(request, response, { completion: body, offer, userId, ...place });
    const batches = toCompletionEvents(source.eventBatches(abortSignalOnClose(response)), asked);
    // LangChain takes messages of one id for one message.
    return { id: leg === 1 ? source.turnId : `${source.turnId}-${leg}`, batches, headers: { "x-turn-id": source.turnId } };
  }

  return makeRouter(openaiOperations, {
    async listModels(_request, response) {
      const all = await offered.list(callerOf(response).tenantId);
      response.json({ object: "list", data: fittingPage(all.map(({ shown }) => shown)) });
    },
    async getModel(request, response) {
      const id = [request.params["id"]].flat().join("/");
      response.json((await modelOf(id, response)).shown);
    },
    createCompletion: [
      requireJson,
      readTurnJson(parts),
      limits.rates.ofUser(claimedUser),
      async (request, response) => {
        const body = parseRequest(CompletionBody, request.body);
        const offer = await modelOf(body.model, response);
        const task = detectFrontEndTask(request, body);
        const { id, batches, headers } = task
          ? await startTask(request, response, { task, body, offer })
          : await startTurn(request, response, body, offer);
        const facts: CompletionFacts = { id: `chatcmpl-${id}`, model: body.model, created: seconds() };
        if (body.stream) {
          const includeUsage = body.stream_options?.include_usage === true;
          return sendCompletionStream(response, batches, { facts, includeUsage, headers, heartbeatMs });
        }
        const completion = await wholeCompletion(facts, batches);
        response.set(headers).json(completion);
      },
    ],
  });
}
