import { type Figure, figureOf } from "../figures.ts";
import type { ConflictFigures } from "./conflicts.ts";
import { type ErasingFigures, sumOf } from "./erasing.ts";
import { LOOKED_AT, type PromptFigures } from "./prompts.ts";
import type { Round, SpeedSamples } from "./speed.ts";

interface PeerMeasurements {
  speed: SpeedSamples[];
  prompts: PromptFigures[];
  conflicts: ConflictFigures[];
  erasing: ErasingFigures[];
}

/** Goal: so many times the turns a second of a Mastra agent. */
const TIMES_MASTRA = 5;

const RAW = "raw fetch";

interface SpeedLine {
  line: string;
  unit: string;
  of: (round: Round) => number[];
  /** Whether the raw call of the model is measured, too. */
  raw: boolean;
}

const SPEED_LINES: SpeedLine[] = [
  { line: "first token", unit: "ms", of: (round) => round.firstTokenMs, raw: true },
  { line: "turn", unit: "ms", of: (round) => round.turnMs, raw: true },
  { line: "turns a second", unit: "turns/s", of: (round) => [round.turnsPerSecond], raw: true },
  { line: "CPU a turn, while answering", unit: "ms CPU", of: (round) => [round.cpuMs], raw: false },
  { line: "CPU a turn, with background work", unit: "ms CPU", of: (round) => [round.cpuMsWithBackground], raw: false },
  {
    line: "CPU a turn, with background work and stores",
    unit: "ms CPU",
    of: (round) => [round.cpuMsWithBackground + round.storesCpuMs],
    raw: false,
  },
  { line: "idle again after a round", unit: "ms", of: (round) => [round.idleAfterMs], raw: false },
];

const atOnce = (conversations: number): string => `${conversations} conversation${conversations === 1 ? "" : "s"}`;

function speedFigures(speed: SpeedSamples[]): Figure[] {
  return SPEED_LINES.flatMap(({ line, unit, of, raw }) =>
    speed
      .filter(({ contender }) => raw || contender.memory)
      .map(({ contender, conversations, rounds }) => {
        const title = `${line}, ${atOnce(conversations)}`;
        const reference = contender.memory && raw ? { reference: `${title}: ${RAW}` } : {};
        return figureOf(`${title}: ${contender.name}`, unit, rounds.map(of), reference);
      }),
  );
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

function countedFigures({ prompts, conflicts, erasing }: Omit<PeerMeasurements, "speed">): Figure[] {
  return [
    ...prompts.flatMap(({ name, promptTokens, holdsFact, answerTokensPerTurn, backgroundTokensPerTurn }) => [
      ...LOOKED_AT.filter((turn) => turn in promptTokens).flatMap((turn) => [
        figureOf(`prompt at turn ${turn}, English and Chinese: ${name}`, "tokens", [promptTokens[turn] ?? []]),
        figureOf(`fact of an early turn in it: ${name}`, "of 1", [(holdsFact[turn] ?? []).map(Number)]),
      ]),
      figureOf(`sent to the model a turn: ${name}`, "tokens", [[answerTokensPerTurn + backgroundTokensPerTurn]]),
      figureOf(`of it in the background: ${name}`, "tokens", [[backgroundTokensPerTurn]]),
    ]),
    ...conflicts.flatMap(({ name, refused, failed, lost, doubled }) => [
      figureOf(`turns without an answer of 50, 10 at once: ${name}`, "turns", [[refused + failed]]),
      figureOf(`messages lost of 10 turns at once: ${name}`, "messages", [[lost]]),
      figureOf(`messages doubled of 10 turns at once: ${name}`, "messages", [[doubled]]),
    ]),
    ...erasing.flatMap(({ name, before, after }) => [
      figureOf(`rows before a delete: ${name}`, "rows", [[sumOf(before)]]),
      figureOf(`rows left after it: ${name}`, "rows", [[sumOf(after)]]),
    ]),
  ];
}

export function peerFigures({ speed, ...counted }: PeerMeasurements): Figure[] {
  return [...speedFigures(speed), ...timesMastra(speed), ...countedFigures(counted)];
}
