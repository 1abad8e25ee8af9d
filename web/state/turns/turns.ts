import { effect, signal } from "@preact/signals";
import type { ChatRequest, Message } from "../../api/types.ts";
import { NOTHING_ASKED } from "./asked.ts";
import { loadConversations } from "../conversations/conversations.ts";
import { isOver, makeLiveTurn, toRecord, type LiveTurn, type TurnRecord } from "./live-turn.ts";
import { runTurn } from "./run-turn.ts";
import { readTab, writeTab } from "../../browser/tab-storage.ts";

const STORED_AS = "turns";
const SAVE_EVERY_MS = 400;

/** The turns that this tab shows, oldest first. */
export const liveTurns = signal<LiveTurn[]>([]);

const leaving = new AbortController();
let saveTimer: number | undefined;

const isSameSession = ({ body }: LiveTurn, other: LiveTurn): boolean =>
  body.user_id === other.body.user_id && body.session_id === other.body.session_id;

/** Whether the stored messages show the turn: it is done, or failed before later turns. */
function isShownByStore(turn: LiveTurn, index: number, all: readonly LiveTurn[]): boolean {
  if (turn.phase.value !== "failed") return turn.phase.value === "done";
  return all.slice(index + 1).some((later) => isSameSession(turn, later));
}

/** A tab has no room for pictures: after a reload such a turn is followed as one from elsewhere. */
const isKept = ({ isFollowed, body }: LiveTurn): boolean => !isFollowed && !Array.isArray(body.message);

/** Stores the other turns for a reload. Without room for their texts, events are read again from the first. */
function save(): void {
  clearTimeout(saveTimer);
  saveTimer = undefined;
  const records = liveTurns.value.filter((...turn) => isKept(turn[0]) && !isShownByStore(...turn)).map(toRecord);
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

export function sendTurn(body: ChatRequest): LiveTurn {
  const turn = makeLiveTurn(body);
  liveTurns.value = [...liveTurns.value, turn];
  save();
  run(turn);
  return turn;
}

export function followTurn(body: ChatRequest, { created_at: followedSince }: Message, turnId: string): void {
  const kept = { idempotencyKey: turnId, body, turnId, lastEventId: null, text: "", error: null };
  const turn = makeLiveTurn(body, { kept, followedSince });
  liveTurns.value = [...liveTurns.value, turn];
  run(turn);
}

export function retryTurn(turn: LiveTurn): void {
  turn.turnId.value = null;
  turn.lastEventId = null;
  turn.text.value = "";
  turn.error.value = null;
  turn.notices.value = [];
  turn.acts.value = [];
  turn.rejected.value = [];
  turn.asked.value = NOTHING_ASKED;
  turn.plan.value = [];
  turn.thoughts.value = "";
  turn.compressed.value = [];
  turn.phase.value = "waiting";
  save();
  run(turn);
}

export function dropStoredTurns(userId: string, sessionId: string): void {
  const { value: all } = liveTurns;
  const left = all.filter(
    (turn, index) => turn.body.user_id !== userId || turn.body.session_id !== sessionId || !isShownByStore(turn, index, all),
  );
  if (left.length < all.length) liveTurns.value = left;
}

export function forgetTurns(userId: string, sessionId?: string): void {
  liveTurns.value = liveTurns.value.filter(
    ({ body }) => body.user_id !== userId || (sessionId !== undefined && body.session_id !== sessionId),
  );
  save();
}

export function resumeKeptTurns(): void {
  const records = readTab<TurnRecord[]>(STORED_AS) ?? [];
  liveTurns.value = records.map((kept) => makeLiveTurn(kept.body, { kept }));
  for (const turn of liveTurns.value) if (!isOver(turn)) run(turn);
  addEventListener("pagehide", save);
}
