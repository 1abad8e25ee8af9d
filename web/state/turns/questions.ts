import { computed, effect, signal } from "@preact/signals";
import { type ApiError, toApiError } from "../../api/api-error.ts";
import * as api from "../../api/endpoints.ts";
import type { OpenQuestion, Question } from "../../api/types.ts";
import { closeQuestion } from "./asked.ts";
import { isAsking, type LiveTurn } from "./live-turn.ts";
import { userId } from "../page/settings.ts";
import { liveTurns } from "./turns.ts";

/** Between two looks: while a question is open, and otherwise. */
const WHILE_ASKED_MS = 4_000;
const ELSE_MS = 30_000;

/** The open questions of the user's turns, newest first. */
export const openQuestions = signal<OpenQuestion[]>([]);

const askingCount = computed(() => liveTurns.value.filter(isAsking).length);

const goOn = (turn: LiveTurn): void => {
  if (isAsking(turn)) turn.phase.value = "waiting";
};

/** Reads open questions. A turn here whose question is gone goes on: somebody has answered, or time was up. */
export async function loadQuestions(): Promise<void> {
  const owner = userId.value;
  if (owner === null) return void (openQuestions.value = []);
  const asking = liveTurns.value.filter((turn) => turn.body.user_id === owner && isAsking(turn));
  const found = await api.listQuestions(owner).catch(() => null); // the thread shows what is wrong
  if (!found || userId.value !== owner) return;
  openQuestions.value = found.questions;
  if (found.next !== null) return;
  const open = new Set(found.questions.map(({ id }) => id));
  for (const turn of asking) if (!open.has(turn.asked.value.open?.id ?? "")) goOn(turn);
}

/** Looks for questions now and then while the page is seen, and at once when a turn here asks. */
export function watchQuestions(): void {
  let timer: number | undefined;
  async function look(): Promise<void> {
    clearTimeout(timer);
    if (!document.hidden) await loadQuestions();
    clearTimeout(timer);
    timer = setTimeout(() => void look(), openQuestions.value.length > 0 || askingCount.value > 0 ? WHILE_ASKED_MS : ELSE_MS);
  }
  document.addEventListener("visibilitychange", () => document.hidden || void look());
  effect(() => {
    void userId.value;
    void askingCount.value;
    queueMicrotask(() => void look());
  });
}

const CLOSED: readonly string[] = ["already_answered", "question_expired", "not_found"];

/** Answers a question of a turn, which then goes on. Somebody else may be faster. Throws ApiError while the question stays open. */
export async function answerQuestion(
  turn: LiveTurn,
  { id }: Question,
  reply: { answer?: string | string[]; text?: string },
): Promise<void> {
  const turnId = turn.turnId.value;
  if (turnId === null) return;
  try {
    const { answer, by } = await api.answerQuestion(turnId, { question_id: id, ...reply });
    turn.asked.value = closeQuestion(turn.asked.value, id, answer, by);
  } catch (thrown) {
    const error: ApiError = toApiError(thrown);
    if (!CLOSED.includes(error.code)) throw error;
    turn.asked.value = closeQuestion(turn.asked.value, id, null, "elsewhere");
  }
  goOn(turn);
  void loadQuestions();
}
