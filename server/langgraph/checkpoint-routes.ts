import type { Router } from "express";
import { z } from "zod";
import { jsonBody, makeRouter, operationGroup, route } from "../http/operation.ts";
import { parseRequest } from "../http/parse-request.ts";
import type { LangGraphParts } from "./langgraph-parts.ts";
import { CheckpointBody, checkpointOf, notOffered } from "./run-request.ts";
import { showThread } from "./thread-routes.ts";
import { Checkpoint } from "./thread-state.ts";
import { conversationOf, Thread } from "./threads.ts";

const StateUpdate = z.looseObject({
  values: z.looseObject({}, "must be an object").nullish().describe("Null or empty: a state is not written from outside."),
  checkpoint: CheckpointBody.nullish(),
  checkpoint_id: z.uuid("must be a UUID").nullish(),
});
const UpdatedState = z.object({ checkpoint: Checkpoint });
const params = { thread_id: z.uuid() };

export const checkpointOperations = operationGroup({
  tag: "LangGraph's protocol",
  schemas: { StateUpdate, UpdatedState },
  routes: {
    copyThread: route("POST /langgraph/threads/:thread_id/copy", "A conversation of its own that begins with the same messages", {
      details: "A fork: nothing is copied, see `POST /api/v1/conversations/:id/fork`.",
      params,
      answer: Thread,
      errors: ["not_found", "conversation_busy"],
    }),
    goBackInThread: route("POST /langgraph/threads/:thread_id/state", "Goes back to a checkpoint, on a new branch", {
      params,
      body: jsonBody(StateUpdate),
      answer: UpdatedState,
      errors: ["not_found", "not_offered", "conversation_busy", "conversation_waiting"],
    }),
  },
});

/** Where threads fork. */
export function checkpointRoutes({ threads, states, checkpoints }: LangGraphParts): Router {
  return makeRouter(checkpointOperations, {
    async copyThread(request, response) {
      const thread = await threads.ofRequest(request, response);
      const copy = await threads.copy(conversationOf(response, thread), thread);
      response.json(await showThread(states, response, copy));
    },
    async goBackInThread(request, response) {
      const { values, ...at } = parseRequest(StateUpdate, request.body);
      if (Object.keys(values ?? {}).length > 0)
        throw notOffered(
          "values",
          "a state is not written from outside; send a run, or bring messages with POST /api/v1/conversations/import",
        );
      const thread = await threads.ofRequest(request, response);
      const conversation = conversationOf(response, thread);
      const checkpointId = checkpointOf(at);
      if (checkpointId !== null) await checkpoints.goBack(conversation, thread, checkpointId);
      response.json({ checkpoint: (await states.read(conversation)).checkpoint });
    },
  });
}
