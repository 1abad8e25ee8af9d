import type { Request, Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { toTurnResult } from "../../../turn/outcome.ts";
import { callerOf } from "../../auth/caller.ts";
import type { OpenAIParts } from "../openai-parts.ts";
import { abortSignalOnClose } from "../../http/event-stream.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../../http/operation.ts";
import { parseRequest } from "../../http/parse-request.ts";
import { requireJson } from "../../http/read-body.ts";
import { MODEL_ERRORS, START_ERRORS } from "../../api/turns/chat-routes.ts";
import { cancelTurn, findTurn, type FoundTurn, sourceOf } from "../../turns/find-turn.ts";
import { turnState } from "../../api/turns/turn-routes.ts";
import { storedOutcome } from "../../turns/turn-source.ts";
import { toCompletionEvents } from "../completion-stream.ts";
import { makeOfferedModels, SERVICE } from "../offered-models.ts";
import { readTurnJson } from "../openai-routes.ts";
import { makeOpenTurn } from "../openai-turn.ts";
import { isTemporary } from "../user-and-session.ts";
import { claimedUser, namedUser } from "../../turns/named-user.ts";
import { findPlace } from "./find-place.ts";
import { makeResponseEvents } from "./response-events.ts";
import { askedIn, languageOfTurn } from "./asked-in-leg.ts";
import { answerItemId, messageItemId, readResponseId, responseId, type ResponseName } from "./response-ids.ts";
import { answerItem, ConversationItems, type Echo, KeptEcho, listOf, questionItem, ResponseObject, toResponse } from "./response-object.ts";
import { ResponseBody, toCompletion, toEcho, toKept } from "./response-request.ts";
import { sendResponseStream, wholeResponse } from "./send-response.ts";

const id = { id: z.string().describe("`resp_…`") };
const DeletedResponse = z.object({ id: z.string(), object: z.literal("response"), deleted: z.boolean() });
const ResponseEvent = z.looseObject({ type: z.string(), sequence_number: z.int() });
const RetrieveQuery = z.object({
  stream: z.enum(["true", "false"], "must be true or false").optional(),
  starting_after: z
    .string()
    .regex(/^\d{1,9}$/, "must be a sequence number")
    .transform(Number)
    .optional(),
});

const answers = {
  200: {
    what: "With `stream`, each `data:` line is one event, numbered without holes; the last one has the whole response.",
    content: { "application/json": ResponseObject, "text/event-stream": ResponseEvent },
  },
} as const;

export const responseOperations = operationGroup({
  tag: "OpenAI's protocol",
  schemas: { ResponseBody, ResponseObject, ResponseEvent, DeletedResponse, ConversationItems },
  routes: {
    createResponse: route("POST /v1/responses", "One turn, as OpenAI's Responses API has it", {
      details:
        "The last item of `input` is what the user says; history is the service's own, by `previous_response_id`, `conversation`, an id of ours among the items, or as for completions. With `store: false` neither a message nor a memory is left.",
      headers: ["X-Session-Id", "X-User-Id", "X-Interactive", "X-Branching"],
      body: jsonBody(ResponseBody),
      answers,
      errors: [...START_ERRORS, ...MODEL_ERRORS, "not_found", "previous_response_not_found", "turn_cancelled", "turn_superseded"],
    }),
    getResponse: route("GET /v1/responses/:id", "A response that was stored; every turn is one", {
      params: id,
      query: RetrieveQuery,
      answers,
      errors: ["not_found"],
    }),
    deleteResponse: route("DELETE /v1/responses/:id", "Erases a response, its question and all that came of both", {
      params: id,
      answer: DeletedResponse,
      errors: ["not_found", "conversation_busy"],
    }),
    cancelResponse: route("POST /v1/responses/:id/cancel", "Stops a response; what there is of it is kept", {
      params: id,
      answer: ResponseObject,
      errors: ["not_found"],
    }),
    listResponseInput: route("GET /v1/responses/:id/input_items", "What the user said", {
      params: id,
      answer: ConversationItems,
      errors: ["not_found"],
    }),
  },
});

/** The echo of a turn that began otherwise, or whose request is unknown. */
const plainEcho = (): Echo => toEcho({ input: "" }, SERVICE, null);

export function responseRoutes(parts: OpenAIParts): Router {
  const { stores, limits, memory, heartbeatMs } = parts;
  const { messages } = stores;
  const offered = makeOfferedModels(parts);
  const openTurn = makeOpenTurn(parts);

  /** Throws AppError `not_found`. */
  async function findAsked(request: Request, response: Response): Promise<FoundTurn & ResponseName> {
    const given = String(request.params["id"]);
    const caller = callerOf(response);
    const name = readResponseId(given);
    const missing = new AppError("not_found", `There is no response "${given.slice(0, 80)}".`);
    if (name === null) throw missing;
    const scope = { tenantId: caller.tenantId, userId: namedUser(request, caller) };
    const found = await findTurn(parts, scope, name.turnId).catch((error: unknown) => {
      throw error instanceof AppError && error.code === "not_found" ? missing : error;
    });
    return { ...found, ...name };
  }

  function echoOf({ record }: FoundTurn): Echo {
    const kept = KeptEcho.safeParse(record && storedOutcome(record)?.asked);
    return { ...plainEcho(), ...(kept.success ? kept.data : {}) };
  }

  async function stateOf(found: FoundTurn & ResponseName): Promise<Parameters<typeof toResponse>[2]> {
    const { record } = found;
    const state = turnState(found);
    const asked = record && (await askedIn(stores, found));
    if (asked) return { status: "completed", output: asked };
    const output =
      record?.answer && record.answerId
        ? [answerItem(record.answerId === found.turnId ? answerItemId(found) : messageItemId(record.answerId), record.answer, "completed")]
        : [];
    const outcome = record && storedOutcome(record);
    if (state === "running" || state === "waiting") return { status: "in_progress", output: [] };
    if (record && outcome) {
      const whole = toTurnResult(outcome, record);
      if (whole) return { status: whole.completed && !whole.cut ? "completed" : "incomplete", output, usage: whole.usage };
      const partial = output.map((item) => ({ ...item, status: "incomplete" as const }));
      if (outcome.error?.code === "model_out_of_tokens") return { status: "incomplete", output: partial };
      return { status: outcome.error?.code === "turn_cancelled" ? "cancelled" : "failed", output: partial, error: outcome.error };
    }
    if (record?.answerId) {
      const answer = await messages.find(record, record.answerId);
      if (answer) return { status: answer.message.completed ? "completed" : "incomplete", output };
    }
    return { status: "failed", output, error: new AppError("turn_interrupted", "The process that answered died. Send the input again.") };
  }

  const show = async (found: FoundTurn & ResponseName): Promise<ResponseObject> => toResponse(found, echoOf(found), await stateOf(found));

  return makeRouter(responseOperations, {
    createResponse: [
      requireJson,
      readTurnJson(parts),
      limits.rates.ofUser(claimedUser),
      async (request, response) => {
        const body = parseRequest(ResponseBody, request.body);
        const { completion, namespaces, inItsWords, fieldOf } = await toCompletion(body, SERVICE);
        const caller = callerOf(response);
        const isDetached = body.background === true;
        const [offer, place] = await Promise.all([
          offered.find(caller.tenantId, completion.model),
          findPlace(stores, request, caller, { body, completion }),
        ]);
        const store = body.store !== false && !isTemporary(place.session);
        if (isDetached && !store) {
          throw AppError.invalid([{ field: "background", problem: "goes with store: true only; nobody could read the response" }]);
        }
        const session = !store && (place.isDerived || isTemporary(place.session)) ? null : place.session;
        const behind = place.departure === undefined ? {} : { departure: place.departure };
        const echo = toEcho({ ...body, store }, completion.model, place.conversation);
        const { source, field, language, leg } = await inItsWords(() =>
          openTurn(request, response, {
            ...behind,
            completion,
            offer,
            userId: place.userId,
            session,
            store,
            isDetached,
            asked: toKept(echo),
          }),
        );
        const headers = { "x-turn-id": source.turnId };
        if (isDetached && !body.stream) {
          await source.accepted;
          return void response.set(headers).json(toResponse({ turnId: source.turnId, leg }, echo, { status: "in_progress", output: [] }));
        }
        const batches = toCompletionEvents(source.eventBatches(abortSignalOnClose(response)), {
          field: fieldOf(field),
          language,
        });
        const events = makeResponseEvents({ turnId: source.turnId, leg }, echo, namespaces);
        if (body.stream) return sendResponseStream(response, batches, { events, headers, heartbeatMs });
        const whole = await wholeResponse(batches, events);
        response.set(headers).json(whole);
      },
    ],
    async getResponse(request, response) {
      const { stream, starting_after: after = -1 } = parseRequest(RetrieveQuery, request.query);
      const found = await findAsked(request, response);
      if (stream !== "true") return void response.json(await show(found));
      const batches = toCompletionEvents(sourceOf(parts, found).eventBatches(abortSignalOnClose(response)), {
        field: "input",
        language: await languageOfTurn(stores, found),
      });
      return sendResponseStream(response, batches, {
        events: makeResponseEvents(found, echoOf(found)),
        after,
        headers: {},
        heartbeatMs,
      });
    },
    async deleteResponse(request, response) {
      const { record, ...name } = await findAsked(request, response);
      if (!record) throw new AppError("conversation_busy", "This response has not begun yet. Cancel it, or delete it after its end.");
      const { tenantId, userId, userMessageId } = record;
      const erased = await memory.erase.episode({ tenantId, userId }, userMessageId);
      response.json({ id: responseId(name), object: "response", deleted: erased !== null });
    },
    async cancelResponse(request, response) {
      const found = await findAsked(request, response);
      if (await cancelTurn(parts, found)) await sourceOf(parts, found).last(abortSignalOnClose(response));
      response.json(await show(await findAsked(request, response)));
    },
    async listResponseInput(request, response) {
      const { record } = await findAsked(request, response);
      const question = record && (await messages.find(record, record.userMessageId));
      const items = question ? [questionItem(messageItemId(question.message.id), question.message.content)] : [];
      response.json(listOf(items));
    },
  });
}
