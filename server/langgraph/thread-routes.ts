import type { Request, Response, Router } from "express";
import { z } from "zod";
import type { StoredThread } from "../../stores/postgres/conversations/thread-store.ts";
import { callerOf, tenantOf } from "../auth/caller.ts";
import type { AppParts } from "../http/app-parts.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../http/openapi/operation.ts";
import { givenMetadata, parseRequest, parseUuid, wholeNumberField } from "../http/parse-request.ts";
import { holding, limit, offset } from "./assistant-routes.ts";
import { GRAPH_ID } from "./assistants.ts";
import type { LangGraphParts } from "./langgraph-parts.ts";
import { CheckpointBody, notOffered } from "./run-request.ts";
import { MOST_STATES, ThreadState } from "./thread-state.ts";
import { conversationOf, noSuchThread, Thread, toThread, userOfRequest } from "./threads.ts";

const uuid = z.uuid("must be a UUID");
const NewThread = z.looseObject({
  thread_id: uuid.nullish().describe("Default: a new one."),
  metadata: givenMetadata.nullish().describe("`user_id` says whose thread it is, unless the token does."),
  if_exists: z.enum(["raise", "do_nothing"], "must be raise or do_nothing").nullish(),
  supersteps: z.array(z.unknown()).nullish(),
});
const ThreadChanges = z.looseObject({
  metadata: givenMetadata.nullish().describe("Is added; a null takes a field away."),
});
const ThreadFilter = z.looseObject({
  ids: z.array(uuid).max(1_000).nullish(),
  metadata: holding,
  status: z.enum(["idle", "busy", "interrupted", "error"], "must be idle, busy, interrupted or error").nullish(),
});
const ThreadSearch = ThreadFilter.extend({
  limit: limit(),
  offset,
  sort_by: z.enum(["thread_id", "status", "created_at", "updated_at", "state_updated_at"]).nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish(),
});
const before = z.union([uuid, z.looseObject({ checkpoint_id: uuid.nullish(), configurable: CheckpointBody.nullish() })]);
const HistoryRequest = z.looseObject({
  limit: limit(),
  before: before.nullish().describe("A checkpoint: those before it."),
  metadata: holding.describe("Only states whose metadata holds this, among the newest ones: what their run was given, and its agent."),
  checkpoint: CheckpointBody.nullish(),
});
const StateAt = z.looseObject({ checkpoint: CheckpointBody.nullish() });

const params = { thread_id: z.uuid() };
const notFound = ["not_found"] as const;

export const threadOperations = operationGroup({
  tag: "LangGraph's protocol",
  schemas: {
    NewThread,
    Thread,
    ThreadChanges,
    ThreadFilter,
    ThreadSearch,
    ThreadState,
    StateAt,
    HistoryRequest,
  },
  routes: {
    createThread: route("POST /langgraph/threads", "An empty conversation", {
      body: jsonBody(NewThread),
      answer: Thread,
      errors: ["conversation_busy", "not_offered"],
    }),
    searchThreads: route("POST /langgraph/threads/search", "Conversations by what their metadata holds", {
      body: jsonBody(ThreadSearch),
      answer: z.array(Thread),
      errors: ["not_offered"],
    }),
    countThreads: route("POST /langgraph/threads/count", "How many there are", {
      body: jsonBody(ThreadFilter),
      answer: z.int(),
      errors: ["not_offered"],
    }),
    getThread: route("GET /langgraph/threads/:thread_id", "One conversation, with its newest state", {
      params,
      answer: Thread,
      errors: notFound,
    }),
    changeThread: route("PATCH /langgraph/threads/:thread_id", "Adds to its metadata", {
      params,
      body: jsonBody(ThreadChanges),
      details: "With `Prefer: return=minimal` the answer is 204, without it.",
      answer: Thread,
      errors: ["not_found", "not_offered"],
    }),
    deleteThread: route("DELETE /langgraph/threads/:thread_id", "Erases a conversation with all that came of it", {
      params,
      answers: { 204: { what: "It is gone.", content: {} } },
      errors: notFound,
    }),
    getThreadState: route("GET /langgraph/threads/:thread_id/state", "Its newest state", { params, answer: ThreadState, errors: notFound }),
    getThreadStateAt: route("GET /langgraph/threads/:thread_id/state/:checkpoint_id", "Its state behind a turn", {
      params: { ...params, checkpoint_id: z.uuid() },
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
      details: `At most ${MOST_STATES} of them.`,
      params,
      body: jsonBody(HistoryRequest),
      answer: z.array(ThreadState),
      errors: notFound,
    }),
  },
});

/** A field that is not described, as nothing is done with it. */
function refuseTtl({ ttl }: { ttl?: unknown }): void {
  if (ttl !== undefined && ttl !== null) throw notOffered("ttl", "a thread is kept until it is deleted, or for RETENTION_DAYS");
}

type Filter = z.infer<typeof ThreadFilter>;

/** Null: nothing can be found. Throws AppError `not_offered`. */
function toFilter(response: Response, { ids, metadata, status, ...others }: Filter) {
  if (Object.keys(others["values"] ?? {}).length > 0)
    throw notOffered("values", "threads are found by their metadata; search messages at GET /api/v1/users/{id}/messages");
  if (Object.keys(others["extract"] ?? {}).length > 0) throw notOffered("extract", "a list has no values; read the state of a thread");
  const { user_id: user, graph_id: graph, ...rest } = metadata ?? {};
  const { tenantId, userId } = callerOf(response);
  const isOthers = (user !== undefined && userId !== null && user !== userId) || (graph !== undefined && graph !== GRAPH_ID);
  if (isOthers) return null;
  const scope = { tenantId, userId: typeof user === "string" ? user : userId };
  return { scope, filter: { ids: ids ?? null, metadata: rest, status: status ?? null } };
}

const COLUMNS = {
  thread_id: "id",
  status: "status",
  created_at: "created_at",
  updated_at: "updated_at",
  state_updated_at: "updated_at",
} as const;

function turnBefore(given: z.infer<typeof before> | null | undefined): string | null {
  if (typeof given === "string") return given;
  return given?.checkpoint_id ?? given?.configurable?.checkpoint_id ?? null;
}

/** With its newest state. */
export async function showThread(states: LangGraphParts["states"], response: Response, thread: StoredThread): Promise<Thread> {
  const { values, interrupts, tasks } = await states.read(conversationOf(response, thread));
  const asked = interrupts.length > 0 ? { [tasks[0]?.id ?? thread.id]: interrupts } : {};
  return toThread(thread, { values, interrupts: asked, error: thread.status === "error" ? (tasks[0]?.error ?? null) : null });
}

/** Threads and their states. */
export function threadRoutes({ memory }: AppParts, { threads, states }: LangGraphParts): Router {
  async function stateAt(request: Request, response: Response, checkpointId: string | null): Promise<ThreadState> {
    const thread = await threads.ofRequest(request, response);
    return states.read(conversationOf(response, thread), checkpointId);
  }

  return makeRouter(threadOperations, {
    async createThread(request, response) {
      const { thread_id: id, metadata, if_exists: ifExists, supersteps, ...others } = parseRequest(NewThread, request.body);
      refuseTtl(others);
      if (supersteps && supersteps.length > 0)
        throw notOffered("supersteps", "a state is not written from outside; bring messages with POST /api/v1/conversations/import");
      const owner = { tenantId: tenantOf(response), userId: userOfRequest(request, response, metadata?.["user_id"]) };
      const found = id && ifExists === "do_nothing" ? await threads.find(callerOf(response), id) : null;
      const thread = found ?? (await threads.create(owner, id ?? undefined, metadata ?? {}));
      response.json(found ? await showThread(states, response, found) : toThread(thread, { values: {}, interrupts: {} }));
    },
    async searchThreads(request, response) {
      const asked = parseRequest(ThreadSearch, request.body);
      const wanted = toFilter(response, asked);
      if (!wanted) return void response.json([]);
      const { limit: most, offset: from, sort_by: by, sort_order: order } = asked;
      const page = { by: COLUMNS[by ?? "created_at"], order: order ?? "desc", limit: most ?? 10, offset: from ?? 0 };
      const found = await threads.search(wanted.scope, wanted.filter, page);
      response.json(found.map((thread) => toThread(thread, { values: null, interrupts: {} })));
    },
    async countThreads(request, response) {
      const wanted = toFilter(response, parseRequest(ThreadFilter, request.body));
      response.json(wanted ? await threads.count(wanted.scope, wanted.filter) : 0);
    },
    async getThread(request, response) {
      response.json(await showThread(states, response, await threads.ofRequest(request, response)));
    },
    async changeThread(request, response) {
      const { metadata, ...others } = parseRequest(ThreadChanges, request.body);
      refuseTtl(others);
      const thread = await threads.ofRequest(request, response);
      const changed = await threads.addMetadata(conversationOf(response, thread), metadata ?? {});
      if (!changed) throw noSuchThread(thread.id);
      if (request.get("prefer") === "return=minimal") return void response.status(204).end();
      response.json(await showThread(states, response, changed));
    },
    async deleteThread(request, response) {
      const thread = await threads.ofRequest(request, response);
      if (!(await memory.erase.conversation(conversationOf(response, thread)))) throw noSuchThread(thread.id);
      response.status(204).end();
    },
    async getThreadState(request, response) {
      response.json(await stateAt(request, response, null));
    },
    async getThreadStateAt(request, response) {
      response.json(await stateAt(request, response, parseUuid("checkpoint id", request.params["checkpoint_id"])));
    },
    async findThreadState(request, response) {
      const { checkpoint } = parseRequest(StateAt, request.body);
      response.json(await stateAt(request, response, checkpoint?.checkpoint_id ?? null));
    },
    async getThreadHistory(request, response) {
      const query = parseRequest(threadOperations.routes.getThreadHistory.query, request.query);
      const thread = await threads.ofRequest(request, response);
      const of = {
        limit: Math.min(query.limit, MOST_STATES),
        before: query.before === undefined ? null : parseUuid("before", query.before),
      };
      response.json(await states.list(conversationOf(response, thread), of));
    },
    async findThreadHistory(request, response) {
      const { limit: most, before: point, checkpoint, metadata } = parseRequest(HistoryRequest, request.body);
      const thread = await threads.ofRequest(request, response);
      const of = { limit: Math.min(most ?? 10, MOST_STATES), before: turnBefore(point), from: checkpoint?.checkpoint_id ?? null };
      response.json(await states.list(conversationOf(response, thread), { ...of, metadata: metadata ?? {} }));
    },
  });
}
