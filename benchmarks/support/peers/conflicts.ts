import { setTimeout as sleep } from "node:timers/promises";
import type { PeerContender, Thread } from "./contender.ts";
import { messageOf } from "./script.ts";
import type { Progress } from "../progress.ts";

const AT_ONCE = 10;
const CONVERSATIONS = 5;
const PAUSE_MS = 1_000;

export interface ConflictFigures {
  name: string;
  refused: number;
  failed: number;
  /** Messages of acknowledged turns that the conversation does not list. */
  lost: number;
  doubled: number;
}

const isRefusal = (error: unknown): boolean => error instanceof Error && error.message.startsWith("status 409");

/** Sends 10 turns at once into a new conversation, five times, and compares acknowledged with listed messages. */
export async function measureConflicts(contender: PeerContender, inLine: boolean, progress: Progress): Promise<ConflictFigures> {
  const { memory, turnInLine } = contender;
  const turn = inLine && turnInLine ? turnInLine : contender.turn;
  const figures = { name: `${contender.name}${inLine ? ", on_busy: enqueue" : ""}`, refused: 0, failed: 0 };
  let [lost, doubled] = [0, 0];
  for (let conversation = 0; conversation < CONVERSATIONS; conversation++) {
    progress.step(`10 turns at once, ${figures.name}`, conversation + 1, CONVERSATIONS);
    const thread: Thread = { userId: "hasty", sessionId: `hasty-${inLine ? "in-line-" : ""}${conversation}` };
    await turn(thread, messageOf(0, "mark-first"));
    const marks = Array.from({ length: AT_ONCE }, (_, index) => `mark-c${conversation}t${index}x`);
    const ends = await Promise.allSettled(marks.map((mark, index) => turn(thread, messageOf(index + 1, mark))));
    await sleep(PAUSE_MS);
    const listed = (await memory?.messages(thread)) ?? [];
    for (const [index, end] of ends.entries()) {
      if (end.status === "rejected") {
        figures[isRefusal(end.reason) ? "refused" : "failed"]++;
        continue;
      }
      for (const role of ["user", "assistant"]) {
        const times = listed.filter((message) => message.role === role && message.content.includes(marks[index] ?? "")).length;
        lost += times === 0 ? 1 : 0;
        doubled += Math.max(0, times - 1);
      }
    }
  }
  return { ...figures, lost, doubled };
}
