import { setTimeout as sleep } from "node:timers/promises";
import type { PeerContender, Thread } from "./contender.ts";
import { messageOf } from "./script.ts";
import type { Progress } from "../progress.ts";

const USERS = 10;
const TURNS_PER_CONVERSATION = 20;
const LOOK_MS = 60;
/** 300 ms: VoltAgent gathers its writes for up to 200. */
const QUIET_LOOKS = 5;
/** Longest wait for a turn's later work, in milliseconds. */
const LONGEST_MS = 5_000;

export interface Round {
  firstTokenMs: number[];
  turnMs: number[];
  turnsPerSecond: number;
  cpuMs: number;
  /** The same until the process was idle. */
  cpuMsWithBackground: number;
  /** CPU of its stores outside the process a turn, until then. */
  storesCpuMs: number;
  idleAfterMs: number;
}

export interface SpeedSamples {
  contender: PeerContender;
  conversations: number;
  rounds: Round[];
}

let nextConversation = 0;
let sentAgain = 0;

export const requestsSentAgain = (): number => sentAgain;

/** Waits until the process takes no CPU; its clock has ticks of 10 ms. */
async function untilIdle(contender: PeerContender): Promise<void> {
  const began = performance.now();
  for (let quiet = 0; quiet < QUIET_LOOKS && performance.now() - began < LONGEST_MS;) {
    const before = contender.cpuMs();
    await sleep(LOOK_MS);
    quiet = contender.cpuMs() === before ? quiet + 1 : 0;
  }
}

/**
 * Repeats a request when its server was closing the connection and has not read it. A dead server refuses the second request; a broken
 * answer is another error ("terminated"). Both end the bench.
 */
async function onOpenConnection<Result>(request: () => Promise<Result>): Promise<Result> {
  return request().catch((error: unknown) => {
    const isUnread = error instanceof TypeError && error.message === "fetch failed";
    const cause = isUnread ? (error.cause as { code?: string } | undefined) : undefined;
    if (cause?.code !== "UND_ERR_SOCKET" && cause?.code !== "ECONNRESET") throw error;
    sentAgain++;
    return request();
  });
}

/** Has a new conversation with script number `script`, the same for every contender. */
async function converse(contender: PeerContender, script: number, turns: number, round: Round): Promise<Thread> {
  const number = nextConversation++;
  const thread = { userId: `user-${number % USERS}`, sessionId: `speed-${number}` };
  for (let turn = 0; turn < turns; turn++) {
    const message = messageOf(script * TURNS_PER_CONVERSATION + turn);
    const { firstTokenMs, totalMs } = await onOpenConnection(() => contender.turn(thread, message));
    round.firstTokenMs.push(firstTokenMs);
    round.turnMs.push(totalMs);
  }
  return thread;
}

/** `conversations` at once, each of so many turns, from script `first` on. */
async function runRound(contender: PeerContender, first: number, conversations: number, turns: number): Promise<Round> {
  const round = { firstTokenMs: [], turnMs: [], turnsPerSecond: 0, cpuMs: 0, cpuMsWithBackground: 0, storesCpuMs: 0, idleAfterMs: 0 };
  const [cpuBefore, storesBefore, began] = [contender.cpuMs(), contender.storesCpuMs(), performance.now()];
  const threads = await Promise.all(Array.from({ length: conversations }, (_, index) => converse(contender, first + index, turns, round)));
  const seconds = (performance.now() - began) / 1000;
  const count = conversations * turns;
  const cpuMs = (contender.cpuMs() - cpuBefore) / count;
  const answered = performance.now();
  const { memory } = contender;
  if (memory) {
    await Promise.all(threads.map((thread) => memory.settle(thread)));
    await untilIdle(contender);
  }
  const idleAfterMs = memory ? Math.max(0, performance.now() - answered - LOOK_MS * QUIET_LOOKS) : 0;
  return {
    ...round,
    turnsPerSecond: count / seconds,
    cpuMs,
    cpuMsWithBackground: (contender.cpuMs() - cpuBefore) / count,
    storesCpuMs: (contender.storesCpuMs() - storesBefore) / count,
    idleAfterMs,
  };
}

/** Measures all contenders round by round, each when the one before is idle, after an uncounted warm-up. */
export async function measureSpeed(
  contenders: PeerContender[],
  {
    conversations,
    turns = TURNS_PER_CONVERSATION,
    rounds,
    warmUp,
  }: { conversations: number; turns?: number; rounds: number; warmUp: number },
  progress: Progress,
): Promise<SpeedSamples[]> {
  const all = contenders.map((contender): SpeedSamples => ({ contender, conversations, rounds: [] }));
  for (let round = -warmUp; round < rounds; round++) {
    for (const samples of all) {
      progress.step(
        `${conversations} at once, ${round < 0 ? "warm-up" : "round"}, ${samples.contender.name}`,
        round + warmUp + 1,
        rounds + warmUp,
      );
      const measured = await runRound(samples.contender, (round + warmUp) * conversations, conversations, turns);
      if (round >= 0) samples.rounds.push(measured);
    }
  }
  return all;
}
