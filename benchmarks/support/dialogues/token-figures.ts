import type { TurnTokens } from "./play-dialogue.ts";
import { type Figure, figureOf } from "../figures.ts";

export interface PlayedSet {
  set: string;
  dialogues: TurnTokens[][];
}

type Savings = NonNullable<ReturnType<typeof savingsAt>>;
type InCommon = ReturnType<typeof inCommonOf>;

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const savedOf = ({ prompt, wholeHistory }: TurnTokens): number => 1 - prompt / wholeHistory;

/** Means over a set's dialogues after `finished` turns; null when no dialogue is long enough. */
function savingsAt({ set, dialogues }: PlayedSet, finished: number, period: number) {
  const periods = dialogues.map((turns) => turns.slice(finished, finished + period)).filter((turns) => turns.length === period);
  const turns = periods.flatMap(([turn]) => turn ?? []);
  if (turns.length === 0) return null;
  const meanOf = (field: "prompt" | "wholeHistory"): number => mean(turns.map((turn) => turn[field]));
  const byPosition = Array.from({ length: period }, (_, position) => mean(periods.flatMap((of) => of[position] ?? []).map(savedOf)));
  return {
    finished,
    set,
    dialogues: turns.length,
    prompt: meanOf("prompt"),
    wholeHistory: meanOf("wholeHistory"),
    saved: mean(turns.map(savedOf)),
    overPeriod: { best: Math.max(...byPosition), worst: Math.min(...byPosition) },
  };
}

function overSets(rows: Savings[]): Savings[] {
  const [first] = rows;
  if (!first) return [];
  const meanOf = (field: "prompt" | "wholeHistory" | "saved"): number => mean(rows.map((row) => row[field]));
  const periodOf = (field: "best" | "worst"): number => mean(rows.map(({ overPeriod }) => overPeriod[field]));
  const all = {
    finished: first.finished,
    set: "all",
    dialogues: rows.reduce((sum, { dialogues }) => sum + dialogues, 0),
    ...{ prompt: meanOf("prompt"), wholeHistory: meanOf("wholeHistory"), saved: meanOf("saved") },
    overPeriod: { best: periodOf("best"), worst: periodOf("worst") },
  };
  return [all];
}

/** For each point a row for each set, then one for all in `counted`. */
export function compareWithWholeHistory(
  sets: PlayedSet[],
  counted: PlayedSet[],
  { points, period }: { points: number[]; period: number },
): Savings[] {
  const rowsOf = (from: PlayedSet[], finished: number): Savings[] => from.flatMap((set) => savingsAt(set, finished, period) ?? []);
  return points.flatMap((finished) => [...rowsOf(sets, finished), ...overSets(rowsOf(counted, finished))]);
}

function inCommonOf({ set, dialogues }: PlayedSet) {
  const shares = (counts: (turn: TurnTokens, before: TurnTokens) => boolean): number[] =>
    dialogues.flatMap((turns) =>
      turns.flatMap((turn, index) => {
        const before = turns[index - 1];
        return before && counts(turn, before) ? [turn.inCommon / turn.prompt] : [];
      }),
    );
  return {
    set,
    betweenVersions: mean(shares((turn, before) => turn.summaryVersion !== null && turn.summaryVersion === before.summaryVersion)),
    allTurns: mean(shares(() => true)),
  };
}

/** The share of a prompt that begins as in the turn before, by set, then for all in `counted`. */
export function shareInCommon(sets: PlayedSet[], counted: PlayedSet[]): InCommon[] {
  const own = counted.map(inCommonOf);
  const all = {
    set: "all",
    betweenVersions: mean(own.map(({ betweenVersions }) => betweenVersions)),
    allTurns: mean(own.map(({ allTurns }) => allTurns)),
  };
  return [...sets.map(inCommonOf), all];
}

/** Goal: per cent saved against the whole history, by finished turns. */
const SAVED: Record<number, number | undefined> = { 20: 60, 50: 91.5, 500: 98 };
/** Goal: per cent of a prompt that equals the last one, between two versions of the summary. */
const IN_COMMON = 80;

export function tokenFigures(savings: readonly Savings[], inCommon: readonly InCommon[]): Figure[] {
  const saved = savings.flatMap((row) => {
    const { finished, set, dialogues, overPeriod } = row;
    const atLeast = SAVED[finished];
    const goal = atLeast === undefined ? {} : { goal: { atLeast } };
    const at = `at ${finished} turns, ${set}`;
    const prompt = figureOf(`prompt ${at}`, "tokens", [[row.prompt]], { reference: `whole history ${at}` });
    const share = figureOf(`saved ${at}`, "%", [[100 * row.saved]], goal);
    return [
      figureOf(`whole history ${at}`, "tokens", [[row.wholeHistory]]),
      prompt,
      { ...share, spread: { lowest: 100 * overPeriod.worst, highest: 100 * overPeriod.best }, samples: dialogues },
    ];
  });
  const reused = inCommon.flatMap(({ set, betweenVersions, allTurns }) => [
    figureOf(`as in the turn before, between versions, ${set}`, "%", [[100 * betweenVersions]], { goal: { atLeast: IN_COMMON } }),
    figureOf(`as in the turn before, over all turns, ${set}`, "%", [[100 * allTurns]]),
  ]);
  return [...saved, ...reused];
}
