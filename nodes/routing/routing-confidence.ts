import type { Nearness } from "./nearness.ts";

/** A share that grows with a figure: 1 / (1 + e^-(slope · figure + offset)). */
interface Curve {
  slope: number;
  offset: number;
}

/** Of an embedder: how often the nearest base was right at a margin, and how often none was at a nearness. */
interface Calibration {
  right: Curve;
  general: Curve;
}

/**
 * Logistic curves through the questions of the chosen half that no keyword decides (benchmarks/README.md, routing). Margins have no scale,
 * so one fits every model; the built-in embedder has its own, since it knows words only: that none is shared says little.
 */
const LEARNED: Calibration = { right: { slope: 1.41, offset: -6.5 }, general: { slope: -2.34, offset: 7.47 } };
const BUILT_IN: Calibration = { right: { slope: 0.34, offset: -1.96 }, general: { slope: -0.28, offset: -0.1 } };
const BUILT_IN_NAME = /^built-in/;
/** Of two bases that the words name as often: the share of the nearer one, by how much nearer it is. */
const OF_TWO: Curve = { slope: 1.29, offset: 0 };

/** A lead beyond this makes no base more likely. */
const LARGEST_LEAD = 4;
/** What the lead over the second nearest counts beside the nearness itself. */
const LEAD_WEIGHT = 0.5;
/** No share was measured on enough questions to say more. */
const MOST = 0.98;

/** 23 of 24 questions of the chosen half; less, as keywords are not always chosen with care. */
export const RULE_CONFIDENCE = 0.9;
export const SMALL_TALK_CONFIDENCE = 0.98;
/** Without anything to go by but that no keyword is there: 22 of 59. */
export const DEFAULT_CONFIDENCE = 0.4;

/** The shares of questions for which the nearest base, or none, was right. */
export interface RouteShares {
  nearest: number;
  general: number;
}

function shareAt({ slope, offset }: Curve, figure: number): number {
  return Math.min(MOST, 1 / (1 + Math.exp(-(slope * figure + offset))));
}

function leadOf([nearest, second]: readonly Nearness[]): number {
  return Math.min(LARGEST_LEAD, (nearest?.nearness ?? 0) - Math.max(0, second?.nearness ?? 0));
}

/** What the nearest base's nearness and its lead come to. */
export function marginOf(nearest: readonly Nearness[]): number {
  return (nearest[0]?.nearness ?? 0) + LEAD_WEIGHT * leadOf(nearest);
}

/** How likely the nearest base is right, and how likely it is that none is. `embedder`: its name. */
export function routeShares(nearest: readonly Nearness[], embedder: string): RouteShares {
  const { right, general } = BUILT_IN_NAME.test(embedder) ? BUILT_IN : LEARNED;
  return { nearest: shareAt(right, marginOf(nearest)), general: shareAt(general, nearest[0]?.nearness ?? 0) };
}

/** How likely the nearest is right of bases that the message's words name as often: no less than a guess. */
export function tieConfidence(nearest: readonly Nearness[]): number {
  const lead = (nearest[0]?.nearness ?? 0) - (nearest[1]?.nearness ?? 0);
  return RULE_CONFIDENCE * Math.max(1 / Math.max(1, nearest.length), nearest.length === 2 ? shareAt(OF_TWO, lead) : 0);
}
