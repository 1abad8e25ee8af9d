import type { Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { jsonBytes, MOST_PAGE_BYTES } from "../../stores/page.ts";
import type { StoredThread } from "../../stores/postgres/turns/thread-store.ts";
import { callerOf, tenantOf } from "../auth/caller.ts";
import type { Memory } from "../parts/open-memory.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../http/operation.ts";
import { givenMetadata, parseRequest } from "../http/parse-request.ts";
import { holding, limit, offset } from "./assistant-routes.ts";
import { GRAPH_ID } from "./assistants.ts";
import type { LangGraphParts } from "./langgraph-parts.ts";
import { notOffered } from "./run-request.ts";
import { bodySelection, pickFields } from "./fit-answer.ts";
import { conversationOf, noSuchThread, Thread, threadTaken, toThread, userOfRequest } from "./threads.ts";

const uuid = z.uuid("must be a UUID").toLowerCase();
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
/** The most of a thread's metadata as Postgres writes it. A single request brings less. */
const MOST_METADATA_BYTES = 64 * 1024;
const MOST_WITH_VALUES = 100;
/** The protocol's threads have a context; these have none. */
const THREAD_FIELDS = [...Object.keys(Thread.shape), "context"];
const ThreadSearch = ThreadFilter.extend({
  select: bodySelection(THREAD_FIELDS),
  limit: limit(),
  offset,
  sort_by: z.enum(["thread_id", "status", "created_at", "updated_at", "state_updated_at"]).nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish(),
});
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
  },
  routes: {
    createThread: route("POST /langgraph/threads", "An empty conversation", {
      body: jsonBody(NewThread),
      answer: Thread,
      errors: ["conversation_busy", "not_offered"],
    }),
    searchThreads: route("POST /langgraph/threads/search", "Conversations by what their metadata holds", {
      details: `With \`select\` only these fields of each. Values are read for those that select them, of at most ${MOST_WITH_VALUES} threads at a time. The header \`X-Pagination-Next\` is the offset of the next page, when there may be one.`,
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
  },
});

/** The field is not described, as it does nothing. */
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

export async function showThread(states: LangGraphParts["states"], response: Response, thread: StoredThread): Promise<Thread> {
  const { values, tasks } = await states.read(conversationOf(response, thread));
  return toThread(thread, { values, error: thread.status === "error" ? (tasks[0]?.error ?? null) : null });
}

export function threadRoutes({ memory }: { memory: Memory }, { threads, states }: LangGraphParts): Router {
  return makeRouter(threadOperations, {
    async createThread(request, response) {
      const { thread_id: id, metadata, if_exists: ifExists, supersteps, ...others } = parseRequest(NewThread, request.body);
      refuseTtl(others);
      if (supersteps && supersteps.length > 0)
        throw notOffered("supersteps", "a state is not written from outside; bring messages with POST /api/v1/conversations/import");
      const owner = { tenantId: tenantOf(response), userId: userOfRequest(request, response, metadata?.["user_id"]) };
      const found = id ? await threads.find(callerOf(response), id) : null;
      if (found && ifExists !== "do_nothing") throw threadTaken(found.id);
      const thread = found ?? (await threads.create(owner, id ?? null, metadata ?? {}));
      response.json(found ? await showThread(states, response, found) : toThread(thread, { values: {} }));
    },
    async searchThreads(request, response) {
      const asked = parseRequest(ThreadSearch, request.body);
      const wanted = toFilter(response, asked);
      if (!wanted) return void response.json([]);
      const { limit: most, offset: from, sort_by: by, sort_order: order, select } = asked;
      const readsValues = (select ?? []).some((name) => name === "values" || name === "error");
      if (readsValues && (most ?? 0) > MOST_WITH_VALUES)
        throw AppError.invalid([{ field: "limit", problem: `must be at most ${MOST_WITH_VALUES} when values or error are selected` }]);
      const page = { by: COLUMNS[by ?? "created_at"], order: order ?? "desc", limit: most ?? 10, offset: from ?? 0 };
      const found = await threads.search(wanted.scope, wanted.filter, page);
      const shown: Thread[] = [];
      let bytes = 0;
      for (const thread of found) {
        const one = pickFields(readsValues ? await showThread(states, response, thread) : toThread(thread, { values: null }), select);
        bytes += jsonBytes(one);
        if (bytes > MOST_PAGE_BYTES && shown.length > 0) break;
        shown.push(one);
      }
      if (found.length > 0 && (shown.length < found.length || found.length === page.limit))
        response.set("x-pagination-next", String(page.offset + shown.length));
      response.json(shown);
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
      const changed = await threads.addMetadata(conversationOf(response, thread), metadata ?? {}, MOST_METADATA_BYTES);
      if (!changed && (await threads.find(callerOf(response), thread.id))) {
        const problem = `would have more than ${MOST_METADATA_BYTES} bytes with what is there; take fields away with null`;
        throw AppError.invalid([{ field: "metadata", problem }]);
      }
      if (!changed) throw noSuchThread(thread.id);
      if (request.get("prefer") === "return=minimal") return void response.status(204).end();
      response.json(await showThread(states, response, changed));
    },
    async deleteThread(request, response) {
      const thread = await threads.ofRequest(request, response);
      if (!(await memory.erase.conversation(conversationOf(response, thread)))) throw noSuchThread(thread.id);
      response.status(204).end();
    },
  });
}
