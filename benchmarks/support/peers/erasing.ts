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
  /** Rows with a hash of the user and nothing else: they keep a running job from bringing the erased back. */
  marksLeft: StoredRows;
}

const isOfMarks = (table: string): boolean => table.endsWith("erase_markers") || table.startsWith("pgboss.");

function select(rows: StoredRows, wanted: (table: string) => boolean): StoredRows {
  return Object.fromEntries(Object.entries(rows).filter(([table]) => wanted(table)));
}

/** Rows found by words or by the index's key. A row may be found by both, so the larger number of each table counts. */
function together(byWord: StoredRows, byKey: StoredRows): StoredRows {
  const tables = new Set([...Object.keys(byWord), ...Object.keys(byKey)]);
  return Object.fromEntries([...tables].map((table) => [table, Math.max(byWord[table] ?? 0, byKey[table] ?? 0)]));
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
  const look = async (): Promise<{ byWord: StoredRows; byKey: StoredRows }> => ({
    byWord: await memory.rowsMentioning(words),
    byKey: await memory.rowsMentioning([keyOfUser(userId)]),
  });
  const data = ({ byWord, byKey }: { byWord: StoredRows; byKey: StoredRows }): StoredRows =>
    together(
      byWord,
      select(byKey, (table) => !isOfMarks(table)),
    );
  const before = await look();
  await memory.forget(userId, sessions);
  await sleep(PAUSE_MS);
  const after = await look();
  return { name, before: data(before), after: data(after), marksLeft: select(after.byKey, isOfMarks) };
}
