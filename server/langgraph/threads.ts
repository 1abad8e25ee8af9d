import type { Request, Response } from "express";
import { v7 as uuidv7 } from "uuid";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { sessionOfChosen } from "../../stores/postgres/conversations/conversation-store.ts";
import { makeThreadStore, type StoredThread } from "../../stores/postgres/turns/thread-store.ts";
import type { Owner } from "../../turn/owner.ts";
import { ANYBODY, callerOf, tenantOf } from "../auth/caller.ts";
import type { Stores } from "../parts/open-stores.ts";
import { time } from "../http/operation.ts";
import { callerId, parseRequest, parseUuid } from "../http/parse-request.ts";
import { namedUser } from "../turns/named-user.ts";
import { GRAPH_ID } from "./assistants.ts";
import type { OwnedThread } from "./checkpoints.ts";
import { Interrupt, toInterrupt } from "./thread-state.ts";
import { ThreadValues } from "./thread-values.ts";

export const Thread = z.object({
  thread_id: z.uuid(),
  created_at: time,
  updated_at: time,
  state_updated_at: time,
  metadata: z.looseObject({ graph_id: z.literal(GRAPH_ID), user_id: z.string() }),
  status: z.enum(["idle", "busy", "interrupted", "error"]),
  config: z.object({}),
  values: ThreadValues.nullable().describe("Null in a list that does not `select` them."),
  interrupts: z.record(z.string(), z.array(Interrupt)),
  error: z.string().nullable().describe("Of one thread: how its newest run has failed."),
});
export type Thread = z.infer<typeof Thread>;

/** Fields of a thread's metadata that the service writes. */
const OWN_METADATA = ["graph_id", "user_id", "session_id", "title"] as const;

/** Drops fields that the service knows itself. */
export function keptMetadata(given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !(OWN_METADATA as readonly string[]).includes(name)));
}

export function toThread(thread: StoredThread, shown: Pick<Thread, "values"> & Partial<Pick<Thread, "error">>): Thread {
  const { id, userId, sessionId, title, metadata, status, waitsFor, createdAt, updatedAt, lastMessageAt } = thread;
  return {
    thread_id: id,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
    state_updated_at: lastMessageAt.toISOString(),
    metadata: {
      ...metadata,
      graph_id: GRAPH_ID,
      user_id: userId,
      ...(sessionId === id || sessionId === sessionOfChosen(id) ? {} : { session_id: sessionId }),
      ...(title === null ? {} : { title }),
    },
    status,
    config: {},
    interrupts: waitsFor ? { [waitsFor.turnId]: [toInterrupt(waitsFor.question)] } : {},
    error: null,
    ...shown,
  };
}

/** The token's user, else the one that the thread, a header or the run names. Throws AppError `forbidden` or `invalid_request`. */
export function userOfRequest(request: Request, response: Response, named: unknown): string {
  const caller = callerOf(response);
  if (typeof named === "string" && caller.userId !== null && named !== caller.userId)
    throw new AppError("forbidden", "user_id: is not the user of this token. Leave it out, or send that user's token.");
  if (caller.userId !== null) return caller.userId;
  if (named !== undefined && named !== null) return parseRequest(z.object({ user_id: callerId }), { user_id: named }).user_id;
  const found = namedUser(request, caller);
  if (found !== null) return found;
  if (caller === ANYBODY) return "default";
  const problem = "is missing; send whose memory to use as user_id in the metadata of the thread, or in the config of the run";
  throw AppError.invalid([{ field: "user_id", problem }]);
}

export const threadTaken = (id: string): AppError =>
  new AppError("conversation_busy", `There is a thread ${id} already. Choose another thread_id, or none.`, { retryable: false });

export const noSuchThread = (id: string): AppError => new AppError("not_found", `There is no thread ${id}.`);

export type Threads = ReturnType<typeof makeThreads>;

export function makeThreads({ stores }: { stores: Pick<Stores, "conversations" | "database" | "forks" | "messages"> }) {
  const store = makeThreadStore(stores.database);
  return {
    ...store,
    /** The thread in the path. Throws AppError `invalid_request` or `not_found`. */
    async ofRequest(request: Request, response: Response): Promise<StoredThread> {
      const id = parseUuid("thread id", request.params["thread_id"]);
      const thread = await store.find(callerOf(response), id);
      if (!thread) throw noSuchThread(id);
      return thread;
    },
    /** A fork of the active path, with the same metadata. */
    async copy(conversation: OwnedThread, { metadata }: StoredThread): Promise<StoredThread> {
      const isEmpty = (await stores.messages.list(conversation, { limit: 1, after: null })).items.length === 0;
      if (isEmpty) return this.create(conversation, null, metadata);
      const id = uuidv7();
      await stores.forks.fork({ ...conversation, at: null, id, sessionId: id, metadata });
      const copy = await store.find(conversation, id);
      if (!copy) throw noSuchThread(id);
      return copy;
    },
    /** An empty thread. `chosen`: the client's id for it. Throws AppError `conversation_busy` when the owner has such a thread. */
    async create(owner: Owner, chosen: string | null, metadata: Record<string, unknown> = {}): Promise<StoredThread> {
      const id = uuidv7();
      const sessionId = chosen === null ? id : sessionOfChosen(chosen);
      const isMade = await stores.conversations.create(owner, { id, sessionId, metadata: keptMetadata(metadata) });
      const thread = isMade ? await store.find(owner, id) : null;
      if (!thread) throw threadTaken(chosen ?? id);
      return thread;
    },
  };
}

export const conversationOf = (response: Response, { id: threadId, conversationId, userId }: StoredThread): OwnedThread => {
  return { tenantId: tenantOf(response), userId, conversationId, threadId };
};
