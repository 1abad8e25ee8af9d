import type { Response } from "express";
import { AppError, toAppError } from "../../errors/app-error.ts";
import type { LastEvent } from "../../graph/start-turn.ts";
import { abortSignalOnClose, openEventStream } from "../http/event-stream.ts";
import type { TurnSource } from "../turns/turn-source.ts";
import type { OpenedRun } from "./open-run.ts";
import type { Frame, StreamMode } from "./run-frames.ts";
import { toInterrupt } from "./thread-state.ts";
import type { ThreadValues } from "./thread-values.ts";
import { callerOf } from "../auth/caller.ts";
import type { LangGraphParts } from "./langgraph-parts.ts";
import { conversationOf } from "./threads.ts";

/** An event's id is its number. After a question the numbers go on with the next million. */
const FRAMES_PER_LEG = 1_000_000;
const EVENT_ID = /^-?\d{1,9}$/;

/** 0: from the first event on. Throws AppError `invalid_request`. */
export function parseFrameId(header: string | undefined): number {
  if (header === undefined || header === "") return 0;
  if (EVENT_ID.test(header)) return Math.max(0, Number(header));
  throw AppError.invalid([
    { field: "Last-Event-ID", problem: `"${header.slice(0, 80)}" is no id of an event; send the last "id" unchanged` },
  ]);
}

const runPath = ({ threadId, runId }: Pick<OpenedRun, "threadId" | "runId">): string =>
  `${threadId === null ? "" : `/threads/${threadId}`}/runs/${runId}`;

/** The run's address as LangGraph's clients read it: below the given one. */
export const runHeaders = (run: Pick<OpenedRun, "threadId" | "runId">): Record<string, string> => ({
  "content-location": runPath(run),
  location: `${runPath(run)}/stream`,
  "x-turn-id": run.runId,
});

/** The end of a run that nobody here has watched: its last event, and its state. */
function toFrames({ status, content }: LastEvent, values: ThreadValues): Frame[] {
  if (status === "error") return [{ mode: null, event: "error", data: JSON.stringify({ error: content.code, message: content.message }) }];
  if (status === "done") return [{ mode: "values", event: "values", data: JSON.stringify(values) }];
  const interrupts = { __interrupt__: [toInterrupt(content.question)] };
  return [
    { mode: "updates", event: "updates", data: JSON.stringify(interrupts) },
    { mode: "values", event: "values", data: JSON.stringify({ ...values, ...interrupts }) },
  ];
}

interface RunStreamParts {
  heartbeatMs: number;
  modes: readonly StreamMode[];
  after: number;
  /** The state of a run that this process has not watched. */
  readValues: () => Promise<ThreadValues>;
}

async function* framesOfRun(
  { frames, source }: OpenedRun,
  { readValues, left }: { readValues: () => Promise<ThreadValues>; left: AbortSignal },
) {
  if (frames) return yield* frames.batches();
  const last = await source.last(left);
  yield toFrames(last, last.status === "error" ? {} : await readValues());
}

/** Sends a run: `metadata` first, then the asked modes as they come. */
export async function sendRunStream(
  response: Response,
  run: OpenedRun,
  { heartbeatMs, modes, after, readValues }: RunStreamParts,
): Promise<void> {
  const left = abortSignalOnClose(response);
  const wanted = new Set<string>(modes);
  using stream = openEventStream(response, { heartbeatMs, headers: runHeaders(run) });
  const metadata = { event: "metadata", data: JSON.stringify({ run_id: run.runId, attempt: 1 }) };
  const legs = run.frames ? (run.source.before?.()?.legs ?? 0) : 0;
  let number = legs * FRAMES_PER_LEG;
  if (after === 0) await stream.send([metadata], { atOnce: true });
  else stream.flushHeaders();
  for await (const batch of framesOfRun(run, { readValues, left })) {
    if (response.destroyed) return;
    const events = batch.flatMap(({ mode, event, data }) => {
      number++;
      const isNew = run.frames === null || number > after;
      return isNew && (mode === null || wanted.has(mode))
        ? [{ id: String(Math.max(number, run.frames ? 0 : after + 1)), event, data }]
        : [];
    });
    if (events.length > 0) await stream.send(events);
  }
  stream.end();
}

/** The last state of a run, or its error, for `wait` and `join`. */
async function lastValues(
  { frames, source }: { frames: OpenedRun["frames"]; source: Pick<TurnSource, "last"> },
  response: Response,
  readValues: () => Promise<ThreadValues>,
): Promise<object> {
  const { status, content } = await source.last(abortSignalOnClose(response));
  if (status === "error") return { __error__: { error: content.code, message: content.message } };
  const values = frames ? frames.values() : await readValues();
  return status === "waiting" ? { ...values, __interrupt__: [toInterrupt(content.question)] } : values;
}

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
