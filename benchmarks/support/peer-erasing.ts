import { setTimeout as sleep } from "node:timers/promises";
import { keyOfUser } from "./own-contenders.ts";
import type { PeerContender } from "./peer-contender.ts";
import { messageOf } from "./peer-script.ts";
import type { Progress } from "./progress.ts";
import type { StoredRows } from "./rows-mentioning.ts";

const TURNS = 12;
/** What is deleted in the background gets this long. */
const PAUSE_MS = 2_000;

export interface ErasingFigures {
  name: string;
  /** Rows of all stores that mention the user, the conversation or a word of its messages, by table. */
  before: StoredRows;
  after: StoredRows;
}

export const sumOf = (rows: StoredRows): number => Object.values(rows).reduce((sum, count) => sum + count, 0);

/** A user's two conversations, deleted by the contender's own API: which rows of all its stores still mention any of it. */
export async function measureErasing(contender: PeerContender, progress: Progress): Promise<ErasingFigures> {
  const { name, memory } = contender;
  if (!memory) throw new Error(`${name} keeps nothing`);
  const userId = "leaver4711";
  const sessions = ["leaving4711a", "leaving4711b"];
  for (const [index, sessionId] of sessions.entries()) {
    for (let turn = 0; turn < TURNS; turn++) {
      progress.step(`erasing, ${name}`, index * TURNS + turn + 1, sessions.length * TURNS);
      await contender.turn({ userId, sessionId }, messageOf(turn, "mark-zq4711"));
    }
    await memory.settle({ userId, sessionId });
  }
  const words = [userId, ...sessions, "zq4711", keyOfUser(userId)];
  const before = await memory.rowsMentioning(words);
  await memory.forget(userId, sessions);
  await sleep(PAUSE_MS);
  return { name, before, after: await memory.rowsMentioning(words) };
}
