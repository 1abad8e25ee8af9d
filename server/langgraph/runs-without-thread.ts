import type { Response, Router } from "express";
import { z } from "zod";
import { callerOf } from "../auth/caller.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../http/operation.ts";
import { parseRequest, parseUuid } from "../http/parse-request.ts";
import { type FoundTurn, findTurn, sourceOf } from "../turns/find-turn.ts";
import { makeAnswerRun, parseFrameId, sendRunStream } from "./run-stream.ts";
import type { LangGraphParts, LangGraphRouteParts } from "./langgraph-parts.ts";
import { modesOf, RunBody } from "./run-request.ts";
import { EndOfRun, isSet, JoinQuery, joinedModes, runErrors, runStream } from "./run-routes.ts";

export const threadlessRunOperations = operationGroup({
  tag: "LangGraph's protocol",
  schemas: {},
  routes: {
    streamRunWithoutThread: route(
      "POST /langgraph/runs/stream",
      "A run without a thread, streamed: it is answered with memory and leaves none",
      { body: jsonBody(RunBody), answers: { 200: runStream }, errors: runErrors },
    ),
    waitForRunWithoutThread: route("POST /langgraph/runs/wait", "A run without a thread, answered when it is over", {
      body: jsonBody(RunBody),
      answer: EndOfRun,
      errors: runErrors,
    }),
    joinRunStreamWithoutThread: route(
      "GET /langgraph/runs/:run_id/stream",
      "The events of a run without a thread, for a minute after its end",
      {
        params: { run_id: z.uuid() },
        query: JoinQuery,
        answers: { 200: runStream },
        errors: ["not_found", "turn_gone"],
      },
    ),
  },
});

export function threadlessRunRoutes(parts: LangGraphRouteParts, { threads, states, openRun }: LangGraphParts): Router {
  const { heartbeatMs, turns } = parts;
  const { readValues, sendOpened, answerOpened } = makeAnswerRun(parts, { threads, states });

  /** Such a run is not stored; this process knows it for a while. */
  async function findRun(response: Response, id: string): Promise<FoundTurn> {
    const caller = callerOf(response);
    const entry = turns.registry.findOwn(caller, id);
    if (entry?.owner.store === false && entry.last) return { id, entry, isRunningHere: false, record: null };
    return findTurn(parts, caller, id);
  }

  return makeRouter(threadlessRunOperations, {
    async streamRunWithoutThread(request, response) {
      const body = parseRequest(RunBody, request.body);
      await sendOpened(response, await openRun.withoutThread(request, response, body), modesOf(body));
    },
    async waitForRunWithoutThread(request, response) {
      await answerOpened(response, await openRun.withoutThread(request, response, parseRequest(RunBody, request.body)));
    },
    async joinRunStreamWithoutThread(request, response) {
      const query = parseRequest(JoinQuery, request.query);
      const after = parseFrameId(request.get("last-event-id"));
      const found = await findRun(response, parseUuid("run id", request.params["run_id"]));
      const run = { runId: found.id, threadId: null, source: sourceOf(parts, found), frames: openRun.foundFrames(found.id) };
      turns.registry.attach(found.id, response, { cancels: isSet(query.cancel_on_disconnect) });
      const read = () => readValues(response, found.record?.conversationId ?? null);
      await sendRunStream(response, run, { heartbeatMs, modes: joinedModes(query), after, readValues: read });
    },
  });
}
