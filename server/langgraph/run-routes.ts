import type { Request, Response, Router } from "express";
import { z } from "zod";
import type { StoredThread } from "../../stores/postgres/turns/thread-store.ts";
import type { OwnerScope } from "../../turn/owner.ts";
import { callerOf } from "../auth/caller.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../http/operation.ts";
import { parseRequest, parseUuid, wholeNumberField } from "../http/parse-request.ts";
import { MODEL_ERRORS, START_ERRORS } from "../api/turns/chat-routes.ts";
import { cancelTurn, type FoundTurn, findTurn, sourceOf } from "../turns/find-turn.ts";
import { makeAnswerRun, parseFrameId, runHeaders, sendRunStream } from "./run-stream.ts";
import type { RegisteredTurn } from "../turns/turn-registry.ts";
import type { LangGraphParts, LangGraphRouteParts } from "./langgraph-parts.ts";
import { fitAnswer, pickFields, querySelection } from "./fit-answer.ts";
import { isServedMode, STREAM_MODES, type StreamMode } from "./run-frames.ts";
import { modesOf, RunBody } from "./run-request.ts";
import { makeRuns, noSuchRun, Run, RUN_STATUS, toRun } from "./runs.ts";
import { ThreadValues } from "./thread-values.ts";
import { conversationOf } from "./threads.ts";

const flag = z.enum(["0", "1", "true", "false"], "must be 1 or 0").default("0");
export const isSet = (value: string): boolean => value === "1" || value === "true";
export const JoinQuery = z.object({
  cancel_on_disconnect: flag,
  stream_mode: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe("Of the modes that the run was asked for. Default: all of them."),
});
/** The asked modes of a joined stream, or all. */
export function joinedModes({ stream_mode: asked = "" }: z.infer<typeof JoinQuery>): readonly StreamMode[] {
  const modes = [asked].flat().filter(isServedMode);
  return modes.length > 0 ? modes : STREAM_MODES;
}

const CancelQuery = z.object({
  wait: flag,
  action: z.enum(["interrupt", "rollback"], "must be interrupt or rollback").default("interrupt"),
});
const ListQuery = z.object({
  limit: wholeNumberField(1, 200).default(10),
  offset: wholeNumberField(0, 1_000).default(0),
  status: z.enum(RUN_STATUS, `must be one of ${RUN_STATUS.join(", ")}`).optional(),
  select: querySelection([...Object.keys(Run.shape), "cancel_reason"]),
});

export const EndOfRun = ThreadValues.extend({
  __error__: z.object({ error: z.string(), message: z.string() }).optional(),
  __interrupt__: z.array(z.unknown()).optional(),
}).describe("The values of the thread behind the run. `__error__`: why it failed; `__interrupt__`: what it waits for.");

export const runStream = {
  what: "Server-sent events, as LangGraph's clients read them: `metadata`, then those of the modes that were asked for.",
  content: { "text/event-stream": z.unknown() },
} as const;
const params = { thread_id: z.uuid(), run_id: z.uuid() };
export const runErrors = [
  ...START_ERRORS,
  ...MODEL_ERRORS,
  "not_found",
  "not_offered",
  "already_answered",
  "question_expired",
  "turn_cancelled",
  "turn_superseded",
] as const;

export const runOperations = operationGroup({
  tag: "LangGraph's protocol",
  schemas: { RunBody, Run, EndOfRun },
  routes: {
    createRun: route("POST /langgraph/threads/:thread_id/runs", "A run in the background: a turn", {
      params: { thread_id: z.uuid() },
      body: jsonBody(RunBody),
      answer: Run,
      errors: runErrors,
    }),
    streamRun: route("POST /langgraph/threads/:thread_id/runs/stream", "A run, streamed", {
      params: { thread_id: z.uuid() },
      body: jsonBody(RunBody),
      answers: { 200: runStream },
      errors: runErrors,
    }),
    waitForRun: route("POST /langgraph/threads/:thread_id/runs/wait", "A run, answered when it is over", {
      params: { thread_id: z.uuid() },
      body: jsonBody(RunBody),
      answer: EndOfRun,
      errors: runErrors,
    }),
    listRuns: route("GET /langgraph/threads/:thread_id/runs", "The runs of a thread, newest first", {
      params: { thread_id: z.uuid() },
      query: ListQuery,
      answer: z.array(Run),
      errors: ["not_found"],
    }),
    getRun: route("GET /langgraph/threads/:thread_id/runs/:run_id", "One run", { params, answer: Run, errors: ["not_found"] }),
    joinRun: route("GET /langgraph/threads/:thread_id/runs/:run_id/join", "Waits for the end of a run", {
      params,
      query: JoinQuery.pick({ cancel_on_disconnect: true }),
      answer: EndOfRun,
      errors: ["not_found", "turn_gone"],
    }),
    joinRunStream: route(
      "GET /langgraph/threads/:thread_id/runs/:run_id/stream",
      "The events of a run, from the first or behind the last one that arrived",
      {
        params,
        query: JoinQuery,
        answers: { 200: runStream },
        errors: ["not_found", "turn_gone"],
      },
    ),
    cancelRun: route("POST /langgraph/threads/:thread_id/runs/:run_id/cancel", "Stops a run; what there is of the answer is kept", {
      details: "`rollback` takes the run off the path, too.",
      params,
      query: CancelQuery,
      answers: { 202: { what: "It stops.", content: {} }, 204: { what: "It has stopped.", content: {} } },
      errors: ["not_found", "not_offered"],
    }),
    deleteRun: route("DELETE /langgraph/threads/:thread_id/runs/:run_id", "Erases the exchange of a run, with all that came of it", {
      params,
      answers: { 204: { what: "It is gone.", content: {} } },
      errors: ["not_found", "conversation_busy"],
    }),
  },
});

const isOfSession = (entry: RegisteredTurn | null, { userId, sessionId }: StoredThread): boolean =>
  entry?.owner.userId === userId && entry.owner.sessionId === sessionId;

export function runRoutes(parts: LangGraphRouteParts, { threads, states, checkpoints, openRun }: LangGraphParts): Router {
  const { heartbeatMs, turns, memory } = parts;
  const runs = makeRuns(parts);
  const { sendOpened, answerOpened, answerJoined } = makeAnswerRun(parts, { threads, states });
  const bodyOf = (request: Request): RunBody => parseRequest(RunBody, request.body);
  const threadIdOf = (request: Request): string => parseUuid("thread id", request.params["thread_id"]);

  /** A run cancelled in line is not stored; this process knows it for a while. */
  async function findKnown(caller: OwnerScope, id: string): Promise<FoundTurn> {
    const entry = turns.registry.findOwn(caller, id);
    const isCancelled = entry?.last?.status === "error" && entry.last.content.code === "turn_cancelled" && !entry.isAccepted;
    return isCancelled ? { id, entry, isRunningHere: false, record: null } : findTurn(parts, caller, id);
  }

  /** The run in the path, if it belongs to this thread. */
  async function findRun(request: Request, response: Response) {
    const thread = await threads.ofRequest(request, response);
    const id = parseUuid("run id", request.params["run_id"]);
    const found = await findKnown(callerOf(response), id);
    const { record, entry } = found;
    const isOfThread = record ? record.conversationId === thread.conversationId : isOfSession(entry, thread);
    if (!isOfThread) throw noSuchRun(id);
    return { thread, found };
  }

  return makeRouter(runOperations, {
    async createRun(request, response) {
      const body: RunBody = { ...bodyOf(request), on_disconnect: "continue" };
      const opened = await openRun.ofThread(request, response, threadIdOf(request), body);
      if (!opened.source.waits) await opened.source.accepted;
      const found = await findTurn(parts, callerOf(response), opened.runId);
      response.set(runHeaders(opened)).json(toRun(found, opened.threadId));
    },
    async streamRun(request, response) {
      const body = bodyOf(request);
      await sendOpened(response, await openRun.ofThread(request, response, threadIdOf(request), body), modesOf(body));
    },
    async waitForRun(request, response) {
      const body = bodyOf(request);
      await answerOpened(response, await openRun.ofThread(request, response, threadIdOf(request), body));
    },
    async listRuns(request, response) {
      const { status, select, ...page } = parseRequest(ListQuery, request.query);
      const thread = await threads.ofRequest(request, response);
      const found = await runs.list(conversationOf(response, thread), { ...page, sessionId: thread.sessionId, status });
      const shown = found.map((run) => pickFields(run, select));
      response.json(fitAnswer(response, shown, page.offset));
    },
    async getRun(request, response) {
      const { thread, found } = await findRun(request, response);
      response.json(toRun(found, thread.id));
    },
    async joinRun(request, response) {
      const { cancel_on_disconnect: cancels } = parseRequest(JoinQuery.pick({ cancel_on_disconnect: true }), request.query);
      const { thread, found } = await findRun(request, response);
      const run = { runId: found.id, threadId: thread.id, source: sourceOf(parts, found), frames: openRun.foundFrames(found.id) };
      turns.registry.attach(found.id, response, { cancels: isSet(cancels) });
      await answerJoined(response, run, async () => (await states.read(conversationOf(response, thread), found.id)).values);
    },
    async joinRunStream(request, response) {
      const query = parseRequest(JoinQuery, request.query);
      const after = parseFrameId(request.get("last-event-id"));
      const { thread, found } = await findRun(request, response);
      const run = { runId: found.id, threadId: thread.id, source: sourceOf(parts, found), frames: openRun.foundFrames(found.id) };
      turns.registry.attach(found.id, response, { cancels: isSet(query.cancel_on_disconnect) });
      const read = async () => (await states.read(conversationOf(response, thread), found.id)).values;
      await sendRunStream(response, run, { heartbeatMs, modes: joinedModes(query), after, readValues: read });
    },
    async cancelRun(request, response) {
      const { wait, action } = parseRequest(CancelQuery, request.query);
      const { thread, found } = await findRun(request, response);
      const source = found.record?.outcome ? null : sourceOf(parts, found);
      await cancelTurn(parts, found);
      const isRolledBack = action === "rollback" && source !== null;
      if ((isSet(wait) || isRolledBack) && source && !found.record?.question) await source.last(AbortSignal.timeout(60_000));
      if (isRolledBack) await checkpoints.takeBack(conversationOf(response, thread), thread, found.id);
      response.status(isSet(wait) ? 204 : 202).end();
    },
    async deleteRun(request, response) {
      const { thread, found } = await findRun(request, response);
      const { record, id } = found;
      if (!record) throw noSuchRun(id);
      const erased = await memory.erase.episode({ tenantId: record.tenantId, userId: thread.userId }, record.userMessageId);
      if (!erased) throw noSuchRun(id);
      response.status(204).end();
    },
  });
}
