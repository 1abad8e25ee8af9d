import { type Figure, figureOf, type Goal, percentile } from "../figures.ts";

export interface TurnRound {
  firstTokenMs: number[];
  turnMs: number[];
  cpuMsPerTurn: number;
}

export interface MeasuredTurns {
  name: string;
  streams: number;
  rounds: TurnRound[];
}

const GOALS: Record<"over" | "turn" | "cpu", Goal> = { over: { atMost: 5 }, turn: { atMost: 12 }, cpu: { atMost: 8 } };

export function turnFigures(all: readonly MeasuredTurns[], reference: string, isHeldToGoals: (name: string) => boolean): Figure[] {
  return all.flatMap(({ name, streams, rounds }) => {
    const label = (what: string, of = name): string => `${what}, ${streams} ${streams === 1 ? "stream" : "streams"}, ${of}`;
    const isReference = name === reference;
    const held = (goal: Goal): { goal?: Goal } => (isHeldToGoals(name) && streams === 1 ? { goal } : {});
    const beside = (what: string): { reference?: string } => (isReference ? {} : { reference: label(what, reference) });
    const own = [
      figureOf(label("first token"), "ms", rounds.map(({ firstTokenMs }) => firstTokenMs), beside("first token")), // prettier-ignore
      figureOf(label("turn"), "ms", rounds.map(({ turnMs }) => turnMs), { ...beside("turn"), ...held(GOALS.turn) }), // prettier-ignore
      figureOf(label("CPU a turn"), "ms CPU", rounds.map(({ cpuMsPerTurn }) => [cpuMsPerTurn]), { ...beside("CPU a turn"), ...held(GOALS.cpu) }), // prettier-ignore
    ];
    if (!isHeldToGoals(name)) return own;
    const raw = all.find((other) => other.name === reference && other.streams === streams)?.rounds ?? [];
    const over = rounds.map(({ firstTokenMs }, round) => {
      const floor = percentile(raw[round]?.firstTokenMs ?? [], 0.5);
      return firstTokenMs.map((ms) => ms - floor);
    });
    return [...own, figureOf(label("first token over that of the raw call"), "ms", over, held(GOALS.over))];
  });
}
