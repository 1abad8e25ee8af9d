import { effect, signal } from "@preact/signals";
import type { ChatRequest, Message } from "../api/types.ts";
import { loadConversations } from "./conversations.ts";
import { isOver, makeLiveTurn, toRecord, type LiveTurn, type TurnRecord } from "./live-turn.ts";
import { runTurn } from "./run-turn.ts";
import { readTab, writeTab } from "./tab-storage.ts";

const STORED_AS = "turns";
const SAVE_EVERY_MS = 400;

/** The turns that this tab sent or follows and still shows, oldest first. */
export const liveTurns = signal<LiveTurn[]>([]);

const leaving = new AbortController();
let saveTimer: number | undefined;

const isSameSession = ({ body }: LiveTurn, other: LiveTurn): boolean =>
  body.user_id === other.body.user_id && body.session_id === other.body.session_id;

/** A turn that is done is told by the stored messages, and so is one that failed once the conversation has gone on after it. */
function isTold(turn: LiveTurn, index: number, all: readonly LiveTurn[]): boolean {
  if (turn.phase.value !== "failed") return turn.phase.value === "done";
  return all.slice(index + 1).some((later) => isSameSession(turn, later));
}

/** Keeps the turns that the stored messages do not tell for a reload. Where their texts find no room, their events are asked for from the first on. */
function save(): void {
  clearTimeout(saveTimer);
  saveTimer = undefined;
  const records = liveTurns.value.filter((...turn) => !turn[0].isFollowed && !isTold(...turn)).map(toRecord);
  if (records.length === 0) writeTab(STORED_AS, null);
  else if (!writeTab(STORED_AS, records))
    writeTab(STORED_AS, records.map((record) => ({ ...record, text: "", lastEventId: null }))); // prettier-ignore
}

function saveSoon(): void {
  saveTimer ??= setTimeout(save, SAVE_EVERY_MS);
}

function run(turn: LiveTurn): void {
  const stopSaving = effect(() => {
    void turn.text.value;
    saveSoon();
  });
  void runTurn(turn, leaving.signal, save).then(() => {
    stopSaving();
    save();
    void loadConversations();
  });
}

/** Sends a message as a new turn. */
export function sendTurn(body: ChatRequest): LiveTurn {
  const turn = makeLiveTurn(body);
  liveTurns.value = [...liveTurns.value, turn];
  save();
  run(turn);
  return turn;
}

/** Shows the answer to a message that was sent from elsewhere as it comes. */
export function followTurn(body: ChatRequest, { created_at: followedSince }: Message, turnId: string): void {
  const kept = { idempotencyKey: turnId, body, turnId, lastEventId: null, text: "", error: null };
  const turn = makeLiveTurn(body, { kept, followedSince });
  liveTurns.value = [...liveTurns.value, turn];
  run(turn);
}

/** Runs a failed turn again for the same message: the idempotency key is that of the first time. */
export function retryTurn(turn: LiveTurn): void {
  turn.turnId.value = null;
  turn.lastEventId = null;
  turn.text.value = "";
  turn.error.value = null;
  turn.notices.value = [];
  turn.phase.value = "waiting";
  save();
  run(turn);
}

/** Turns of a session that the stored messages tell need not be shown from here any more. */
export function dropToldTurns(userId: string, sessionId: string): void {
  const { value: all } = liveTurns;
  const left = all.filter((turn, index) => turn.body.user_id !== userId || turn.body.session_id !== sessionId || !isTold(turn, index, all));
  if (left.length < all.length) liveTurns.value = left;
}

/** Forgets a user's turns, or those of one session, after they were erased. */
export function forgetTurns(userId: string, sessionId?: string): void {
  liveTurns.value = liveTurns.value.filter(
    ({ body }) => body.user_id !== userId || (sessionId !== undefined && body.session_id !== sessionId),
  );
  save();
}

/** Goes on with what was under way before a reload. */
export function resumeKeptTurns(): void {
  const records = readTab<TurnRecord[]>(STORED_AS) ?? [];
  liveTurns.value = records.map((kept) => makeLiveTurn(kept.body, { kept }));
  for (const turn of liveTurns.value) if (!isOver(turn)) run(turn);
  addEventListener("pagehide", save);
}
