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

type TurnGoals = Record<"over" | "turn" | "cpu", Goal>;

/** Milliseconds at p50 with one stream and every layer at work: first token over that of the raw call, turn, CPU a turn. */
export const POSTGRES_GOALS: TurnGoals = { over: { atMost: 5 }, turn: { atMost: 10 }, cpu: { atMost: 9 } };
export const EMBEDDED_GOALS: TurnGoals = { over: { atMost: 10 }, turn: { atMost: 15 }, cpu: { atMost: 18 } };

/** `goals`: those of a contender, by its name. */
export function turnFigures(all: readonly MeasuredTurns[], reference: string, goals: Record<string, TurnGoals>): Figure[] {
  return all.flatMap(({ name, streams, rounds }) => {
    const label = (what: string, of = name): string => `${what}, ${streams} ${streams === 1 ? "stream" : "streams"}, ${of}`;
    const isReference = name === reference;
    const own = streams === 1 ? goals[name] : undefined;
    const held = (what: keyof TurnGoals): { goal?: Goal } => (own ? { goal: own[what] } : {});
    const beside = (what: string): { reference?: string } => (isReference ? {} : { reference: label(what, reference) });
    const figures = [
      figureOf(label("first token"), "ms", rounds.map(({ firstTokenMs }) => firstTokenMs), beside("first token")), // prettier-ignore
      figureOf(label("turn"), "ms", rounds.map(({ turnMs }) => turnMs), { ...beside("turn"), ...held("turn") }), // prettier-ignore
      figureOf(label("CPU a turn"), "ms CPU", rounds.map(({ cpuMsPerTurn }) => [cpuMsPerTurn]), { ...beside("CPU a turn"), ...held("cpu") }), // prettier-ignore
    ];
    if (!name.startsWith("this service")) return figures;
    const raw = all.find((other) => other.name === reference && other.streams === streams)?.rounds ?? [];
    const over = rounds.map(({ firstTokenMs }, round) => {
      const floor = percentile(raw[round]?.firstTokenMs ?? [], 0.5);
      return firstTokenMs.map((ms) => ms - floor);
    });
    return [...figures, figureOf(label("first token over that of the raw call"), "ms", over, held("over"))];
  });
}
