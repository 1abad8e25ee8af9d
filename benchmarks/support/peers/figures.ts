import { type Figure, figureOf } from "../figures.ts";
import type { ConflictFigures } from "./conflicts.ts";
import { type ErasingFigures, sumOf } from "./erasing.ts";
import { LOOKED_AT, type PromptFigures } from "./prompts.ts";
import type { Round, SpeedSamples } from "./speed.ts";

export interface PeerMeasurements {
  speed: SpeedSamples[];
  prompts: PromptFigures[];
  conflicts: ConflictFigures[];
  erasing: ErasingFigures[];
}

export interface PeerResults extends Omit<PeerMeasurements, "speed"> {
  figures: Figure[];
  comparisons: Comparison[];
}

/** Goal: so many times the turns a second of a Mastra agent. */
const TIMES_MASTRA = 5;

const RAW = "raw fetch";

interface SpeedLine {
  line: string;
  unit: string;
  better: "less" | "more";
  of: (round: Round) => number[];
  raw: boolean;
  /** Printed, but not compared. */
  toldOnly?: boolean;
}

const SPEED_LINES: SpeedLine[] = [
  { line: "first token", unit: "ms", better: "less", of: (round) => round.firstTokenMs, raw: true },
  { line: "turn", unit: "ms", better: "less", of: (round) => round.turnMs, raw: true },
  { line: "turns a second", unit: "turns/s", better: "more", of: (round) => [round.turnsPerSecond], raw: true },
  { line: "CPU a turn, while answering", unit: "ms CPU", better: "less", of: (round) => [round.cpuMs], raw: false },
  { line: "CPU a turn, with background work", unit: "ms CPU", better: "less", of: (round) => [round.cpuMsWithBackground], raw: false },
  {
    line: "CPU a turn, with background work and stores",
    unit: "ms CPU",
    better: "less",
    of: (round) => [round.cpuMsWithBackground + round.storesCpuMs],
    raw: false,
  },
  { line: "idle again after a round", unit: "ms", better: "less", of: (round) => [round.idleAfterMs], raw: false, toldOnly: true },
];

const atOnce = (conversations: number): string => `${conversations} conversation${conversations === 1 ? "" : "s"}`;

function speedFigures(speed: SpeedSamples[]): { figures: Figure[]; lines: Line[] } {
  const figures: Figure[] = [];
  const lines: Line[] = [];
  for (const { line, unit, better, of, raw, toldOnly } of SPEED_LINES) {
    for (const { contender, conversations, rounds } of speed) {
      if (!contender.memory && !raw) continue;
      const title = `${line}, ${atOnce(conversations)}`;
      const reference = contender.memory && raw ? { reference: `${title}: ${RAW}` } : {};
      const figure = figureOf(`${title}: ${contender.name}`, unit, rounds.map(of), reference);
      figures.push(figure);
      if (contender.memory && !toldOnly)
        lines.push({ line: title, better, name: contender.name, isOurs: contender.isOurs, value: figure.p50 });
    }
  }
  return { figures, lines };
}

function timesMastra(speed: SpeedSamples[]): Figure[] {
  const isMastra = ({ contender }: SpeedSamples): boolean => contender.name.startsWith("Mastra");
  return speed
    .filter(({ contender }) => contender.isOurs)
    .flatMap((ours) =>
      speed
        .filter((theirs) => isMastra(theirs) && theirs.conversations === ours.conversations)
        .map((theirs) => {
          const ratios = ours.rounds.map(({ turnsPerSecond }, round) => [
            turnsPerSecond / (theirs.rounds[round]?.turnsPerSecond ?? Number.NaN),
          ]);
          const name = `turns a second, ${atOnce(ours.conversations)}: ${ours.contender.name} over ${theirs.contender.name}`;
          const reference = `turns a second, ${atOnce(ours.conversations)}: ${theirs.contender.name}`;
          return figureOf(name, "times", ratios, { reference, goal: { atLeast: TIMES_MASTRA } });
        }),
    );
}

function countedLines({
  prompts,
  conflicts,
  erasing,
}: Omit<PeerMeasurements, "speed">): { line: string; unit: string; name: string; values: number[] }[] {
  return [
    ...prompts.flatMap(({ name, promptTokens, answerTokensPerTurn, backgroundTokensPerTurn }) => [
      ...LOOKED_AT.filter((turn) => turn in promptTokens).map((turn) => ({
        line: `prompt at turn ${turn}`,
        unit: "tokens",
        name,
        values: promptTokens[turn] ?? [],
      })),
      {
        line: "sent to the model a turn, background included",
        unit: "tokens",
        name,
        values: [answerTokensPerTurn + backgroundTokensPerTurn],
      },
    ]),
    ...conflicts.flatMap(({ name, refused, failed, lost, doubled }) => [
      { line: "turns without an answer of 50, 10 at once", unit: "turns", name, values: [refused + failed] },
      { line: "messages lost of 10 turns at once", unit: "messages", name, values: [lost] },
      { line: "messages doubled of 10 turns at once", unit: "messages", name, values: [doubled] },
    ]),
    ...erasing.map(({ name, after }) => ({ line: "rows left after a delete", unit: "rows", name, values: [sumOf(after)] })),
  ];
}

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

export function peerFigures({ speed, ...counted }: PeerMeasurements): PeerResults {
  const ours = new Set(speed.filter(({ contender }) => contender.isOurs).map(({ contender }) => contender.name));
  const isOurs = (name: string): boolean => [...ours].some((own) => name.startsWith(own));
  const measured = speedFigures(speed);
  const counts = countedLines(counted);
  const lines: Line[] = [
    ...measured.lines,
    ...counts.map(({ line, name, values }): Line => ({ line, name, better: "less", isOurs: isOurs(name), value: mean(values) })),
  ];
  const figures = [
    ...measured.figures,
    ...timesMastra(speed),
    ...counts.map(({ line, unit, name, values }) => figureOf(`${line}: ${name}`, unit, [values])),
  ];
  return { figures, comparisons: compareLines(lines), ...counted };
}

export interface Line {
  line: string;
  better: "less" | "more";
  name: string;
  isOurs: boolean;
  value: number;
}

export interface Comparison {
  line: string;
  ours: string;
  peer: string;
  ourValue: number;
  peerValue: number;
  result: "ahead" | "level" | "behind";
}

function resultOf(ours: Line, peer: Line): Comparison["result"] {
  if (ours.value === peer.value) return "level";
  return ours.value < peer.value === (ours.better === "less") ? "ahead" : "behind";
}

/** Compares each of ours with each peer, line by line. Only equal numbers are level. */
function compareLines(lines: Line[]): Comparison[] {
  return lines
    .filter(({ isOurs }) => isOurs)
    .flatMap((ours) =>
      lines
        .filter((peer) => !peer.isOurs && peer.line === ours.line)
        .map((peer) => ({
          line: ours.line,
          ours: ours.name,
          peer: peer.name,
          ourValue: ours.value,
          peerValue: peer.value,
          result: resultOf(ours, peer),
        })),
    );
}
