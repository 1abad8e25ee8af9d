import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import type { Snapshot as StoredSnapshot } from "../../../stores/postgres/turns/snapshot-store.ts";
import type { Stores } from "../../parts/open-stores.ts";
import { jsonAnswer, jsonBody, makeRouter, operationGroup, route, time, next } from "../../http/operation.ts";
import { parseRequest, parseUuid, storableText, AfterQuery, parseAfter } from "../../http/parse-request.ts";
import { BranchList, toBranches } from "./branch-routes.ts";
import { pageBehind } from "../../../stores/page.ts";
import { findConversation } from "./conversation-routes.ts";

const MAX_LABEL_CHARACTERS = 200;

const Snapshot = z.object({
  id: z.uuid(),
  branch_id: z.uuid(),
  message_id: z.uuid().describe("The last message of the path when it was made."),
  label: z.string(),
  created_at: time,
});
const SnapshotList = z.object({ snapshots: z.array(Snapshot), next });
const SnapshotBody = z.strictObject(
  {
    label: storableText
      .refine((text) => text.trim() !== "" && [...text].length <= MAX_LABEL_CHARACTERS, `must have 1 to ${MAX_LABEL_CHARACTERS} characters`)
      .meta({ minLength: 1, maxLength: MAX_LABEL_CHARACTERS }),
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with label" : undefined) },
);
const DeletedSnapshot = z.object({ deleted: z.literal(true) });

const snapshot = { snapshot: z.uuid() };

export const snapshotOperations = operationGroup({
  tag: "conversations",
  schemas: { SnapshotList, Snapshot, SnapshotBody, DeletedSnapshot },
  routes: {
    addSnapshot: route("POST /api/v1/conversations/:id/snapshots", "Names the end of the active path, to come back to it", {
      body: jsonBody(SnapshotBody),
      answers: { 201: jsonAnswer(Snapshot, "It is kept.") },
      errors: ["not_found"],
    }),
    listSnapshots: route("GET /api/v1/conversations/:id/snapshots", "The snapshots of a conversation, oldest first", {
      query: AfterQuery,
      answer: SnapshotList,
      errors: ["not_found"],
    }),
    deleteSnapshot: route("DELETE /api/v1/conversations/:id/snapshots/:snapshot", "Forgets a snapshot; no message goes with it", {
      params: snapshot,
      answer: DeletedSnapshot,
      errors: ["not_found"],
    }),
    restoreSnapshot: route("POST /api/v1/conversations/:id/snapshots/:snapshot/restore", "Goes on from a snapshot, on a new branch", {
      params: snapshot,
      answer: BranchList,
      errors: ["not_found", "conversation_busy", "conversation_waiting"],
    }),
  },
});

const toSnapshot = ({ id, branchId, messageId, label, createdAt }: StoredSnapshot) => {
  return { id, branch_id: branchId, message_id: messageId, label, created_at: createdAt };
};

export function snapshotRoutes({ stores }: { stores: Pick<Stores, "branches" | "conversations" | "snapshots"> }): Router {
  const { branches, conversations, snapshots } = stores;
  return makeRouter(snapshotOperations, {
    async addSnapshot(request, response) {
      const { label } = parseRequest(SnapshotBody, request.body);
      const conversation = await findConversation(conversations, request, response);
      response.status(201).json(toSnapshot(await snapshots.add(conversation, label)));
    },
    async listSnapshots(request, response) {
      const after = parseAfter(request.query);
      const all = await snapshots.list(await findConversation(conversations, request, response));
      const { items, next } = pageBehind(all, after);
      response.json({ snapshots: items.map(toSnapshot), next });
    },
    async deleteSnapshot(request, response) {
      const id = parseUuid("snapshot id", request.params["snapshot"]);
      const conversation = await findConversation(conversations, request, response);
      if (!(await snapshots.remove(conversation, id))) throw new AppError("not_found", `There is no snapshot ${id} in this conversation.`);
      response.json({ deleted: true });
    },
    async restoreSnapshot(request, response) {
      const id = parseUuid("snapshot id", request.params["snapshot"]);
      const conversation = await findConversation(conversations, request, response);
      await snapshots.restore(conversation, id);
      response.json(toBranches(await branches.list(conversation)));
    },
  });
}
