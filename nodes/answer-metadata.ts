import { NOT_REMEMBERED } from "../turn/outcome.ts";
import type { Citation, ConversationState, Receipt } from "../turn/state.ts";

/** [1], [1, 2], 【1】 and what a Chinese keyboard writes between numbers. */
const CITED = /[[【［]\s*(\d{1,3}(?:\s*[,，、;；]\s*\d{1,3})*)\s*[\]】］]/gu;
const CODE = /```[^]*?(?:```|$)|`[^`\n]*`/g;

function citedNumbers(answer: string): Set<number> {
  const numbers = [...answer.replace(CODE, " ").matchAll(CITED)].flatMap(([, list = ""]) => list.match(/\d+/g) ?? []);
  return new Set(numbers.map(Number));
}

/** The passages that the answer cites by number, or all it was given: it may rest on any. */
export function citationsOf(answer: string, passages: Receipt["passages"]): Citation[] {
  const all = passages.map(({ id, document_id, title, heading }, place) => {
    return { number: place + 1, passage_id: id, document_id, title, heading };
  });
  const numbers = citedNumbers(answer);
  const cited = all.filter(({ number }) => numbers.has(number));
  return cited.length > 0 ? cited : all;
}

/** The beginning of a continued answer keeps its sources: its numbers may name other passages. */
function withEarlier(earlier: readonly Citation[], later: readonly Citation[]): Citation[] {
  const isKnown = (one: Citation): boolean => earlier.some((other) => other.number === one.number && other.passage_id === one.passage_id);
  return [...earlier, ...later.filter((one) => !isKnown(one))];
}

/** What a stored answer keeps of its turn: ids, names, versions and counts, never remembered text. */
export function answerMetadata(state: ConversationState): Record<string, unknown> {
  const { turnId, workerName, answeredBy, usage, cut, error, receipt, continued, answer } = state;
  return {
    turn_id: turnId,
    worker_name: workerName,
    model: answeredBy,
    usage,
    // Undefined when the turn failed before it was routed.
    route: state.routeDecision ?? null,
    citations: withEarlier(continued?.citations ?? [], citationsOf(answer, receipt?.passages ?? [])),
    episodes: receipt?.episodes ?? [],
    core_memory: receipt?.core_memory ?? [],
    ...(state.chosen ? { chosen: state.chosen } : {}),
    ...(state.remember === false ? NOT_REMEMBERED : {}),
    ...(cut ? { cut } : {}),
    ...(error ? { error: error.code } : {}),
    ...(state.debug ? { execution_log: state.executionLogs } : {}),
  };
}
