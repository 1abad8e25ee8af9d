import { pause } from "../../browser/pause.ts";
import { effect } from "@preact/signals";
import { ApiError, NO_CONNECTION, toApiError } from "../../api/api-error.ts";
import { cancelTurn, eraseConversation, readMessage, readSteps, readTurn, resumeTurn, startTurn } from "../../api/endpoints.ts";
import { readEvents } from "../../api/read-events.ts";
import type { TurnEvent } from "../../api/types.ts";
import { toActs } from "./acts.ts";
import { toClosedQuestions, withEarlier } from "./asked.ts";
import { isAsking, isOver, makeEventTaker, type LiveTurn } from "./live-turn.ts";

/** The connections before a turn counts as failed, and the longest pause. */
const MAX_ATTEMPTS = 6;
const LONGEST_PAUSE_MS = 8_000;

function fail(turn: LiveTurn, { code, message, retryable }: ApiError): void {
  turn.error.value = { code, message, retryable };
  turn.phase.value = "failed";
}

/** Shows the stored outcome of a turn whose events are gone. */
async function settleFromStore(turn: LiveTurn, turnId: string): Promise<void> {
  const stored = await readTurn(turnId);
  if (stored.state === "running" || stored.state === "waiting")
    throw new ApiError(0, NO_CONNECTION, "The turn is still running elsewhere.");
  if (stored.answer_message_id !== null) turn.text.value = (await readMessage(stored.answer_message_id)).message.content;
  turn.route.value = stored.route_decision;
  if (stored.state === "done") {
    turn.phase.value = "done";
    return;
  }
  turn.error.value = stored.error ?? { code: "turn_interrupted", message: "The process that answered has stopped.", retryable: true };
  turn.phase.value = "failed";
}

/** Reads one connection until it closes. Throws when the turn has not ended by then. */
async function readOnce(turn: LiveTurn, signal: AbortSignal): Promise<void> {
  const known = turn.turnId.value;
  const response =
    known === null ? await startTurn(turn.body, turn.idempotencyKey, signal) : await resumeTurn(known, turn.lastEventId, signal);
  const turnId = response.headers.get("x-turn-id") ?? known;
  if (turnId !== null) {
    turn.turnId.value = turnId;
    turn.runIds.add(turnId);
    if (turn.phase.value === "stopping") void cancelTurn(turnId).catch(() => undefined);
  }
  if (turn.phase.value === "reconnecting") turn.phase.value = turn.text.value === "" ? "waiting" : "streaming";
  const { take, flush } = makeEventTaker(turn);
  try {
    for await (const events of readEvents<TurnEvent>(response)) take(events);
  } finally {
    flush();
  }
  if (!isOver(turn) && !isAsking(turn)) throw new ApiError(0, NO_CONNECTION, "The connection ended before the answer did.");
}

/** The turn's steps so far, for a page that missed them. */
async function recallSteps(turn: LiveTurn, turnId: string): Promise<void> {
  if (turn.acts.value.length > 0) return;
  const found = await readSteps(turnId).catch(() => null);
  if (!found || turn.acts.value.length > 0) return;
  turn.acts.value = toActs(found.steps);
  turn.asked.value = withEarlier(turn.asked.value, toClosedQuestions(found.steps));
}

function until(isSo: () => boolean, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = effect(() => void (isSo() && resolve()));
  signal?.addEventListener("abort", () => resolve(), { once: true });
  return promise.finally(stop);
}

/** Waits until the turn no longer asks, or the page is left. */
async function whenItGoesOn(turn: LiveTurn, signal: AbortSignal): Promise<void> {
  if (turn.turnId.value !== null) void recallSteps(turn, turn.turnId.value);
  await until(() => !isAsking(turn), signal);
}

/**
 * Sends or resumes the turn until it has ended. While it asks, there is no connection. A lost connection is resumed by the turn's id, or
 * else by sending the message with the same idempotency key. Never rejects.
 */
export async function runTurn(turn: LiveTurn, signal: AbortSignal, onChange: () => void): Promise<void> {
  const { turnId, lastEventId: readTo } = turn;
  if (turnId.value !== null && readTo !== null) await recallSteps(turn, turnId.value); // the page was reloaded
  for (let attempt = 1; !isOver(turn) && !signal.aborted; attempt++) {
    const lastEventId = turn.lastEventId;
    try {
      await readOnce(turn, signal);
      onChange();
      await whenItGoesOn(turn, signal);
      attempt = 0;
    } catch (thrown) {
      if (signal.aborted) return;
      const error = toApiError(thrown);
      const turnId = turn.turnId.value;
      const isGone = turnId !== null && (error.status === 410 || error.status === 404);
      const settled = isGone && (await settleFromStore(turn, turnId).then(() => true, () => false)); // prettier-ignore
      if (settled || isOver(turn)) continue;
      if (turn.lastEventId !== lastEventId) attempt = 1;
      if (error.status !== 0 || attempt >= MAX_ATTEMPTS) {
        fail(turn, error);
        continue;
      }
      turn.phase.value = turn.phase.value === "stopping" ? "stopping" : "reconnecting";
      await pause(Math.min(250 * 2 ** attempt, LONGEST_PAUSE_MS));
    } finally {
      onChange();
    }
  }
}

export async function stopTurn(turn: LiveTurn): Promise<void> {
  if (isOver(turn) || turn.phase.value === "stopping") return;
  const wasAsking = isAsking(turn);
  if (!wasAsking) turn.phase.value = "stopping";
  const turnId = turn.turnId.value;
  if (turnId === null) return; // readOnce sends it as soon as the id is known
  try {
    await cancelTurn(turnId);
    if (wasAsking && isAsking(turn)) turn.phase.value = "stopping"; // and its end is read
  } catch (error) {
    if (!isOver(turn)) fail(turn, toApiError(error));
  }
}

/** Ends a turn, and erases the conversation that it has begun. Throws ApiError. */
export async function eraseTurn(turn: LiveTurn): Promise<void> {
  await stopTurn(turn);
  await until(() => isOver(turn));
  const id = turn.turnId.value === null ? null : (await readTurn(turn.turnId.value)).conversation_id;
  if (id !== null) await eraseConversation(id, true);
}
