import { generateDialogues } from "../dialogues/generate-dialogues.ts";
import type { Exchange } from "../dialogues/dialogue.ts";

/** Turns of the longest conversation that is played. */
const TURNS = 50;

/** What is said, the same on every run and in every process: half in English, half in Chinese. */
export const EXCHANGES: Exchange[] = generateDialogues({ count: 5, turns: TURNS }).flatMap(({ exchanges }) => exchanges);

/** Where the first Chinese conversation begins. */
export const FIRST_CHINESE = EXCHANGES.length / 2;

/** The user's message of an exchange. It ends with which answer is wanted, for the model's server has no model; `added` stands before that. */
export function messageOf(exchange: number, added = ""): string {
  const place = exchange % EXCHANGES.length;
  return `${EXCHANGES[place]?.user ?? ""} ${added} [answer ${place}]`;
}

/** At the very end: before it a prompt may hold what was recalled, with other marks. */
const WANTED = /(mark-\w+)?\s*\[answer (\d+)\]\s*$/;

/** The answer that a message asks for, whose first word is the one that readers of streams wait for; the message's own mark is said again. Null when it asks for none. */
export function answerTo(message: string): string | null {
  const wanted = WANTED.exec(message);
  if (!wanted) return null;
  return `word0 ${wanted[1] ?? ""} ${EXCHANGES[Number(wanted[2])]?.assistant ?? ""}`;
}
