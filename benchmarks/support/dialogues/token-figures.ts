import type { TurnTokens } from "./play-dialogue.ts";
import { type Figure, figureOf } from "../figures.ts";

/** The turns of every dialogue of one data set. */
export interface PlayedSet {
  set: string;
  dialogues: TurnTokens[][];
}

/** Means over the dialogues of a set; tokens are those of o200k_base. */
export interface Savings {
  /** Turns finished before the one looked at. */
  finished: number;
  set: string;
  dialogues: number;
  prompt: number;
  summary: number;
  wholeHistory: number;
  /** 1 - prompt / whole history, of each dialogue. */
  saved: number;
  /** Over this and the next turns, in which the window has each of its sizes: mean, best and worst turn, and the worst of a single dialogue. */
  overPeriod: { saved: number; best: number; worst: number; worstOfAll: number };
}

export interface InCommon {
  set: string;
  /** The mean over turns whose summary is the one of the turn before. */
  betweenVersions: number;
  allTurns: number;
}

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const savedOf = ({ prompt, wholeHistory }: TurnTokens): number => 1 - prompt / wholeHistory;

/** Null when no dialogue of the set is long enough. */
function savingsAt({ set, dialogues }: PlayedSet, finished: number, period: number): Savings | null {
  const periods = dialogues.map((turns) => turns.slice(finished, finished + period)).filter((turns) => turns.length === period);
  const turns = periods.flatMap(([turn]) => turn ?? []);
  if (turns.length === 0) return null;
  const meanOf = (field: "prompt" | "summary" | "wholeHistory"): number => mean(turns.map((turn) => turn[field]));
  const byPosition = Array.from({ length: period }, (_, position) => mean(periods.flatMap((of) => of[position] ?? []).map(savedOf)));
  return {
    finished,
    set,
    dialogues: turns.length,
    prompt: meanOf("prompt"),
    summary: meanOf("summary"),
    wholeHistory: meanOf("wholeHistory"),
    saved: mean(turns.map(savedOf)),
    overPeriod: {
      saved: mean(byPosition),
      best: Math.max(...byPosition),
      worst: Math.min(...byPosition),
      worstOfAll: Math.min(...periods.flat().map(savedOf)),
    },
  };
}

/** The mean of the rows of several sets, each with the same weight. */
function overSets(rows: Savings[]): Savings | null {
  const [first] = rows;
  if (!first) return null;
  const meanOf = (value: (row: Savings) => number): number => mean(rows.map(value));
  return {
    finished: first.finished,
    set: "all",
    dialogues: rows.reduce((sum, { dialogues }) => sum + dialogues, 0),
    prompt: meanOf((row) => row.prompt),
    summary: meanOf((row) => row.summary),
    wholeHistory: meanOf((row) => row.wholeHistory),
    saved: meanOf((row) => row.saved),
    overPeriod: {
      saved: meanOf((row) => row.overPeriod.saved),
      best: meanOf((row) => row.overPeriod.best),
      worst: meanOf((row) => row.overPeriod.worst),
      worstOfAll: Math.min(...rows.map((row) => row.overPeriod.worstOfAll)),
    },
  };
}

/** Returns for each point a row for each set, then one for all in `counted`. */
export function compareWithWholeHistory(
  sets: PlayedSet[],
  counted: PlayedSet[],
  { points, period }: { points: number[]; period: number },
): Savings[] {
  const rowsOf = (from: PlayedSet[], finished: number): Savings[] => from.flatMap((set) => savingsAt(set, finished, period) ?? []);
  return points.flatMap((finished) => [...rowsOf(sets, finished), ...[overSets(rowsOf(counted, finished)) ?? []].flat()]);
}

function inCommonOf({ set, dialogues }: PlayedSet): InCommon {
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

/** Returns the share of a prompt that begins as in the turn before: a row for each set, then one for all in `counted`. */
export function shareInCommon(sets: PlayedSet[], counted: PlayedSet[]): InCommon[] {
  const own = counted.map(inCommonOf);
  const all = {
    set: "all",
    betweenVersions: mean(own.map(({ betweenVersions }) => betweenVersions)),
    allTurns: mean(own.map(({ allTurns }) => allTurns)),
  };
  return [...sets.map(inCommonOf), all];
}

/** Goal: per cent that a prompt is smaller than the whole history, by finished turns. */
const SAVED: Record<number, number | undefined> = { 20: 60, 50: 91.5, 500: 98 };
/** Goal: per cent of a prompt that is as in the turn before, between two versions of the summary. */
const IN_COMMON = 80;

/** Figures of what is saved at each point and set, and of what a provider's cache can reuse. */
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
