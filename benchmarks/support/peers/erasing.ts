import { setTimeout as sleep } from "node:timers/promises";
import { keyOfUser } from "./own-contenders.ts";
import type { PeerContender } from "./contender.ts";
import { messageOf } from "./script.ts";
import type { Progress } from "../progress.ts";
import type { StoredRows } from "./rows-mentioning.ts";

const PAUSE_MS = 2_000;

export interface ErasingFigures {
  name: string;
  before: StoredRows;
  after: StoredRows;
}

/** Tables whose rows have a hash of the user and nothing else: they keep a running job from bringing the erased back. */
const isOfMarks = (table: string): boolean => table.endsWith("erase_markers") || table.startsWith("pgboss.");

/** Rows found by words or by the index's key. A row may be found by both, so the larger number of each table counts. */
function together(byWord: StoredRows, byKey: StoredRows): StoredRows {
  const found = { ...byWord };
  for (const [table, count] of Object.entries(byKey)) if (!isOfMarks(table)) found[table] = Math.max(found[table] ?? 0, count);
  return found;
}

export const sumOf = (rows: StoredRows): number => Object.values(rows).reduce((sum, count) => sum + count, 0);

export async function measureErasing(contender: PeerContender, turns: number, progress: Progress): Promise<ErasingFigures> {
  const { name, memory } = contender;
  if (!memory) throw new Error(`${name} keeps nothing`);
  const userId = "leaver4711";
  const sessions = ["leaving4711a", "leaving4711b"];
  for (const [index, sessionId] of sessions.entries()) {
    for (let turn = 0; turn < turns; turn++) {
      progress.step(`erasing, ${name}`, index * turns + turn + 1, sessions.length * turns);
      await contender.turn({ userId, sessionId }, messageOf(turn, "mark-zq4711"));
    }
    await memory.settle({ userId, sessionId });
  }
  const words = [userId, ...sessions, "zq4711"];
  const look = async (): Promise<StoredRows> =>
    together(await memory.rowsMentioning(words), await memory.rowsMentioning([keyOfUser(userId)]));
  const before = await look();
  await memory.forget(userId, sessions);
  await sleep(PAUSE_MS);
  const after = await look();
  return { name, before, after };
}
