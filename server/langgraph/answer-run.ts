import type { Response } from "express";
import { toAppError } from "../../errors/app-error.ts";
import { callerOf } from "../auth/caller.ts";

import type { LangGraphParts } from "./langgraph-parts.ts";
import type { OpenedRun } from "./open-run.ts";
import type { StreamMode } from "./run-frames.ts";
import { lastValues, runHeaders, sendRunStream } from "./run-stream.ts";
import type { ThreadValues } from "./thread-values.ts";
import { conversationOf } from "./threads.ts";

/** A run by its id, of this process or another. */
type JoinedRun = Pick<OpenedRun, "runId" | "threadId" | "source" | "frames">;

/** Answers with runs: as streams, or with their last state. `readValues`: the state of a run that this process has not watched. */
export function makeAnswerRun({ heartbeatMs }: { heartbeatMs: number }, { threads, states }: Pick<LangGraphParts, "threads" | "states">) {
  async function readValues(response: Response, threadId: string | null): Promise<ThreadValues> {
    const thread = threadId === null ? null : await threads.find(callerOf(response), threadId);
    return thread ? (await states.read(conversationOf(response, thread))).values : {};
  }

  /**
   * Waits for the end of a run and sends spaces meanwhile, which JSON allows: proxies and clients give up on silence. An error after the
   * first space, or of a begun run, is in the body.
   */
  async function answerEnd(
    response: Response,
    run: JoinedRun,
    begun: Promise<unknown>,
    readEnd: () => Promise<ThreadValues>,
  ): Promise<void> {
    const heartbeat = setInterval(() => {
      if (response.destroyed || response.writableNeedDrain) return;
      if (!response.headersSent) response.set(runHeaders(run)).type("json");
      response.write(" ");
    }, heartbeatMs);
    try {
      await begun;
      const end = await lastValues(run, response, readEnd);
      if (response.headersSent) response.end(JSON.stringify(end));
      else response.set(runHeaders(run)).json(end);
    } catch (error) {
      if (!response.headersSent) throw error;
      const { code, message } = toAppError(error).toContent();
      response.end(JSON.stringify({ __error__: { error: code, message } }));
    } finally {
      clearInterval(heartbeat);
    }
  }

  async function sendOpened(response: Response, run: OpenedRun, modes: readonly StreamMode[]): Promise<void> {
    if (!run.source.waits) await run.source.accepted;
    await sendRunStream(response, run, { heartbeatMs, modes, after: 0, readValues: () => readValues(response, run.threadId) });
  }

  return {
    readValues,
    sendOpened,
    /** Throws the refusal's error. */
    answerOpened: (response: Response, run: OpenedRun): Promise<void> =>
      answerEnd(response, run, run.source.accepted, () => readValues(response, run.threadId)),
    /** Answers a run that another request began. */
    answerJoined: (response: Response, run: JoinedRun, readEnd: () => Promise<ThreadValues>): Promise<void> =>
      answerEnd(response, run, Promise.resolve(), readEnd),
  };
}
