import { defineBench } from "./support/bench.ts";
import type { Measured } from "./support/results.ts";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import { withDatabase } from "../test/servers/database-url.ts";
import { startPostgresServer } from "../test/servers/postgres-server.ts";
import { startVectorPostgres, whyNoVectorPostgres } from "../test/servers/vector-postgres.ts";
import { type Ground, INSTALLED_PEERS, installPeers, startPeer } from "./support/peers/installed-peers.ts";
import { startOnPglite, startOnPostgres } from "./support/peers/own-contenders.ts";
import { type ConflictFigures, measureConflicts } from "./support/peers/conflicts.ts";
import type { PeerContender } from "./support/peers/contender.ts";
import { measurePrompts, type PromptFigures, LOOKED_AT } from "./support/peers/prompts.ts";
import { measureSpeed, requestsSentAgain, type Round, type SpeedSamples } from "./support/peers/speed.ts";
import { parentOf, treeCpuMs, startProcess } from "./support/start-process.ts";
import type { Progress } from "./support/progress.ts";
import { rawFetch } from "./support/turn/contenders.ts";
import { type Figure, figureOf } from "./support/figures.ts";

interface PeerMeasurements {
  speed: SpeedSamples[];
  prompts: PromptFigures[];
  conflicts: ConflictFigures[];
}

/** Goal: a multiple of a Mastra agent's turns a second. */
const TIMES_MASTRA = 5;

const RAW = "raw fetch";

interface SpeedLine {
  line: string;
  unit: string;
  of: (round: Round) => number[];
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

function countedFigures({ prompts, conflicts }: Omit<PeerMeasurements, "speed">): Figure[] {
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
  ];
}

function peerFigures({ speed, ...counted }: PeerMeasurements): Figure[] {
  return [...speedFigures(speed), ...timesMastra(speed), ...countedFigures(counted)];
}

/** Uncounted: 10 conversations of 20 turns each. */
const MOST_WARM_UP_ROUNDS = 2;

async function versions(): Promise<unknown> {
  const { dependencies } = JSON.parse(await readFile(new URL("./peers/package.json", import.meta.url), "utf8")) as {
    dependencies: unknown;
  };
  return dependencies;
}

/** One Postgres for all, with a database for each contender; its CPU includes all its processes. */
async function openGround(serverUrl: string, modelUrl: string, folder: string): Promise<Ground & { close(): Promise<void> }> {
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  const { rows } = await admin.query<{ pid: number }>("select pg_backend_pid() as pid");
  const postmaster = parentOf(rows[0]?.pid ?? Number.NaN);
  return {
    modelUrl,
    folder,
    databaseCpuMs: () => treeCpuMs(postmaster),
    async createDatabase(name) {
      await admin.query(`create database ${name} template template0`);
      return withDatabase(serverUrl, name);
    },
    close: () => admin.end(),
  };
}

function rawCall(modelUrl: string): PeerContender {
  const raw = rawFetch(modelUrl);
  return {
    name: raw.name,
    isOurs: false,
    turn: ({ sessionId }, message) => raw.turn(sessionId, message),
    cpuMs: () => raw.cpuMs(),
    storesCpuMs: () => 0,
    close: () => raw.close(),
  };
}

async function run({ rounds, turns }: Record<"rounds" | "turns", number>, progress: Progress): Promise<Measured> {
  progress.step("installing the peers");
  await installPeers();
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-peers-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const noVectors = await whyNoVectorPostgres();
  const postgres = await (noVectors === undefined ? startVectorPostgres() : startPostgresServer());
  opened.defer(() => postgres.stop());
  const model = await startProcess(["benchmarks/support/peers/model-process.ts"], /(http\S+)/);
  opened.defer(() => model.stop());
  const ground = await openGround(postgres.url, model.line, folder);
  opened.defer(() => ground.close());

  const keep = (contender: PeerContender): PeerContender => {
    opened.defer(() => contender.close());
    return contender;
  };
  const contenders = [rawCall(model.line), keep(await startOnPglite(ground))];
  if (noVectors === undefined) contenders.push(keep(await startOnPostgres(ground, true)));
  else console.log(`peers runs without pgvector: ${noVectors}`);
  contenders.push(keep(await startOnPostgres(ground, false)));
  for (const peer of INSTALLED_PEERS) contenders.push(keep(await startPeer(peer, ground)));
  const remembering = contenders.filter(({ memory }) => memory);

  await measureSpeed(contenders, { conversations: 10, rounds: 0, warmUp: Math.min(MOST_WARM_UP_ROUNDS, rounds - 1) }, progress);
  const alone = await measureSpeed(contenders, { conversations: 1, rounds, warmUp: 0 }, progress);
  const together = await measureSpeed(contenders, { conversations: 10, turns: 10, rounds: Math.ceil(rounds / 2), warmUp: 0 }, progress);
  const prompts: PromptFigures[] = [];
  for (const contender of remembering) prompts.push(await measurePrompts(contender, model.line, turns, progress));
  const conflicts: ConflictFigures[] = [];
  for (const contender of remembering) {
    conflicts.push(await measureConflicts(contender, false, progress));
    if (contender.turnInLine) conflicts.push(await measureConflicts(contender, true, progress));
  }
  const figures = peerFigures({ speed: [...alone, ...together], prompts, conflicts });
  const notes = [
    `Every contender was told the same in each round. ${requestsSentAgain()} requests met a connection that was just being closed, were not read, and were sent once more.`,
    "The real Postgres runs without fsync, for everybody.",
  ];
  return { versions: await versions(), withoutPgvector: noVectors ?? null, notes, figures };
}

export const peers = defineBench({
  asks: "How does the service compare with the libraries that people build such a service with",
  minutes: { short: 2, long: 12 },
  numbers: {
    rounds: { of: "rounds of one conversation of 20 turns, and half as many of ten", short: 1, long: 12 },
    turns: { of: "turns of the conversations whose prompts are counted", short: 10, long: 50 },
  },
  run,
});
