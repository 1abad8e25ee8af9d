import type { Request, Response, Router } from "express";
import { z } from "zod";
import { jsonBody, makeRouter, operationGroup, route } from "../http/operation.ts";
import { parseRequest, parseUuid, wholeNumberField } from "../http/parse-request.ts";
import { holding, limit } from "./assistant-routes.ts";
import type { LangGraphParts } from "./langgraph-parts.ts";
import { CheckpointBody } from "./run-request.ts";
import { bodySelection, pickFields, querySelection, type Selection } from "./fit-answer.ts";
import { MOST_STATES, ThreadState } from "./thread-state.ts";
import { conversationOf } from "./threads.ts";

const uuid = z.uuid("must be a UUID");
const STATE_FIELDS = Object.keys(ThreadState.shape);
const before = z.union([uuid, z.looseObject({ checkpoint_id: uuid.nullish(), configurable: CheckpointBody.nullish() })]);
const HistoryRequest = z.looseObject({
  limit: limit(),
  before: before.nullish().describe("A checkpoint: those before it."),
  metadata: holding.describe("Only states whose metadata holds this, among the newest ones: what their run was given, and its agent."),
  checkpoint: CheckpointBody.nullish(),
  select: bodySelection(STATE_FIELDS, "values"),
});
const StateAt = z.looseObject({ checkpoint: CheckpointBody.nullish(), select: bodySelection(STATE_FIELDS, "values") });
const StateQuery = z.object({ select: querySelection(STATE_FIELDS, "values") });

const params = { thread_id: z.uuid() };
const notFound = ["not_found"] as const;

export const stateOperations = operationGroup({
  tag: "LangGraph's protocol",
  schemas: { ThreadState, StateAt, HistoryRequest },
  routes: {
    getThreadState: route("GET /langgraph/threads/:thread_id/state", "Its newest state", {
      params,
      query: StateQuery,
      answer: ThreadState,
      errors: notFound,
    }),
    getThreadStateAt: route("GET /langgraph/threads/:thread_id/state/:checkpoint_id", "Its state behind a turn", {
      params: { ...params, checkpoint_id: z.uuid() },
      query: StateQuery,
      answer: ThreadState,
      errors: notFound,
    }),
    findThreadState: route("POST /langgraph/threads/:thread_id/state/checkpoint", "Its state at a checkpoint", {
      params,
      body: jsonBody(StateAt),
      answer: ThreadState,
      errors: notFound,
    }),
    getThreadHistory: route("GET /langgraph/threads/:thread_id/history", "Its states, newest first", {
      params,
      query: z.object({ limit: wholeNumberField(1, 1_000).default(10), before: z.string("must be given once").optional() }),
      answer: z.array(ThreadState),
      errors: notFound,
    }),
    findThreadHistory: route("POST /langgraph/threads/:thread_id/history", "Its states, newest first", {
      details: `At most ${MOST_STATES} of them, on all branches: each state is followed by those of the branches that leave there. The header \`X-Pagination-Next\` is the \`before\` of the next page, when there may be one.`,
      params,
      body: jsonBody(HistoryRequest),
      answer: z.array(ThreadState),
      errors: notFound,
    }),
  },
});

function turnBefore(given: z.infer<typeof before> | null | undefined): string | null {
  if (typeof given === "string") return given;
  return given?.checkpoint_id ?? given?.configurable?.checkpoint_id ?? null;
}

export function stateRoutes({ threads, states }: LangGraphParts): Router {
  async function sendState(request: Request, response: Response, checkpointId: string | null, select: Selection): Promise<void> {
    const thread = await threads.ofRequest(request, response);
    response.json(pickFields(await states.read(conversationOf(response, thread), checkpointId), select));
  }

  function sendHistory(response: Response, { states: found, next }: Awaited<ReturnType<typeof states.list>>, select?: Selection): void {
    if (next !== null) response.set("x-pagination-next", next);
    response.json(found.map((state) => pickFields(state, select)));
  }

  return makeRouter(stateOperations, {
    async getThreadState(request, response) {
      const { select } = parseRequest(StateQuery, request.query);
      await sendState(request, response, null, select);
    },
    async getThreadStateAt(request, response) {
      const { select } = parseRequest(StateQuery, request.query);
      await sendState(request, response, parseUuid("checkpoint id", request.params["checkpoint_id"]), select);
    },
    async findThreadState(request, response) {
      const { checkpoint, select } = parseRequest(StateAt, request.body);
      await sendState(request, response, checkpoint?.checkpoint_id ?? null, select);
    },
    async getThreadHistory(request, response) {
      const query = parseRequest(stateOperations.routes.getThreadHistory.query, request.query);
      const thread = await threads.ofRequest(request, response);
      const of = {
        limit: Math.min(query.limit, MOST_STATES),
        before: query.before === undefined ? null : parseUuid("before", query.before),
      };
      sendHistory(response, await states.list(conversationOf(response, thread), of));
    },
    async findThreadHistory(request, response) {
      const { limit: most, before: point, checkpoint, metadata, select } = parseRequest(HistoryRequest, request.body);
      const thread = await threads.ofRequest(request, response);
      const of = { limit: Math.min(most ?? 10, MOST_STATES), before: turnBefore(point), from: checkpoint?.checkpoint_id ?? null };
      const found = await states.list(conversationOf(response, thread), { ...of, metadata: metadata ?? {} });
      sendHistory(response, found, select);
    },
  });
}
