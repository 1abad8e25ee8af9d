import type { Router } from "express";
import { z } from "zod";
import type { StoredBranch } from "../../../stores/postgres/turns/branch-store.ts";
import { ERASED, sendEraseReceipt } from "../erase-receipt.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Memory } from "../../parts/open-memory.ts";
import { jsonAnswer, jsonBody, makeRouter, operationGroup, route, time, next, type Sent } from "../../http/operation.ts";
import { callerId, parseRequest, parseUuid, uuidField, AfterQuery, parseAfter } from "../../http/parse-request.ts";
import { type Cursor, pageBehind } from "../../../stores/page.ts";
import { findConversation } from "./conversation-routes.ts";

const Branch = z.object({
  id: z.uuid(),
  parent_id: z
    .uuid()
    .nullable()
    .describe("Null: the first branch, whose id is the conversation's, or one that leaves among the messages which a fork shares."),
  fork_message_id: z.uuid().nullable().describe("The last message that it shares with its parent; null: none."),
  origin: z.enum(["edit", "regenerate", "restore"]).nullable(),
  label: z.string().nullable(),
  message_count: z.int().describe("From the first message to its last one."),
  created_at: time,
  updated_at: time,
  active: z.boolean().describe("Its path is what is listed, answered and remembered."),
});
const ForkBody = z.strictObject(
  {
    at: uuidField.optional().describe("The last message that it shares. Default: the last one of the active path."),
    session_id: callerId,
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with session_id" : undefined) },
);
const Forked = z.object({ conversation_id: z.uuid() });
export const BranchList = z.object({ branches: z.array(Branch), next });
const BranchBody = z
  .strictObject(
    {
      branch_id: uuidField.optional(),
      message_id: uuidField.optional().describe("One of `versions`: of the branches whose paths have it, the one that was shown last."),
    },
    { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with branch_id or message_id" : undefined) },
  )
  .refine(({ branch_id: branch, message_id: message }) => (branch === undefined) !== (message === undefined), {
    path: ["branch_id"],
    message: "is needed, or message_id in its place",
  });
const DeletionQuery = z.object({
  children: z.enum(["true", "false"], "must be true or false").default("false").describe("`true`: the branches that leave it go, too."),
});

export const branchOperations = operationGroup({
  tag: "conversations",
  schemas: { BranchList, Branch, BranchBody, ForkBody, Forked },
  routes: {
    listBranches: route("GET /api/v1/conversations/:id/branches", "The branches of a conversation, oldest first", {
      query: AfterQuery,
      answer: BranchList,
      errors: ["not_found"],
    }),
    activateBranch: route("PUT /api/v1/conversations/:id/active-branch", "Switches to a branch: memory follows its path", {
      body: jsonBody(BranchBody),
      answer: BranchList,
      errors: ["not_found", "conversation_busy", "conversation_waiting"],
    }),
    deleteBranch: route(
      "DELETE /api/v1/conversations/:id/branches/:branch",
      "Erases a branch: its own messages with all that came of them",
      {
        params: { branch: z.uuid() },
        query: DeletionQuery,
        answers: ERASED,
        errors: ["not_found", "branch_in_use"],
      },
    ),
    forkConversation: route("POST /api/v1/conversations/:id/fork", "A conversation of its own that begins with the same messages", {
      details: "Nothing is copied: what is erased of the one that they come from is erased of it, too.",
      body: jsonBody(ForkBody),
      answers: { 201: jsonAnswer(Forked, "It is there.") },
      errors: ["not_found", "conversation_busy"],
    }),
  },
});

const toBranch = ({ id, parentId, forkMessageId, origin, label, messageCount, createdAt, updatedAt, isActive }: StoredBranch) => ({
  id,
  parent_id: parentId,
  fork_message_id: forkMessageId,
  origin,
  label,
  message_count: messageCount,
  created_at: createdAt,
  updated_at: updatedAt,
  active: isActive,
});

export function toBranches(all: readonly StoredBranch[], after: Cursor | null = null): Sent<z.output<typeof BranchList>> {
  const { items, next } = pageBehind(all, after);
  return { branches: items.map(toBranch), next };
}

export function branchRoutes({ stores, memory }: { stores: Pick<Stores, "branches" | "conversations" | "forks">; memory: Memory }): Router {
  const { branches, conversations } = stores;
  return makeRouter(branchOperations, {
    async listBranches(request, response) {
      const after = parseAfter(request.query);
      response.json(toBranches(await branches.list(await findConversation(conversations, request, response)), after));
    },
    async activateBranch(request, response) {
      const { branch_id: branchId, message_id: messageId = "" } = parseRequest(BranchBody, request.body);
      const conversation = await findConversation(conversations, request, response);
      await branches.activate(conversation, branchId ?? (await branches.findBranchOf(conversation, messageId)));
      response.json(toBranches(await branches.list(conversation)));
    },
    async deleteBranch(request, response) {
      const { children } = parseRequest(DeletionQuery, request.query);
      const branchId = parseUuid("branch id", request.params["branch"]);
      const conversation = await findConversation(conversations, request, response);
      sendEraseReceipt(response, await memory.erase.branch(conversation, branchId, { withChildren: children === "true" }));
    },
    async forkConversation(request, response) {
      const { at = null, session_id: sessionId } = parseRequest(ForkBody, request.body);
      const conversation = await findConversation(conversations, request, response);
      response.status(201).json({ conversation_id: await stores.forks.fork({ ...conversation, at, sessionId }) });
    },
  });
}
