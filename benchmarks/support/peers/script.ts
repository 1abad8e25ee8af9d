import { generateDialogues } from "../dialogues/generate-dialogues.ts";
import type { Exchange } from "../dialogues/generate-dialogues.ts";

const TURNS = 50;

const EXCHANGES: Exchange[] = generateDialogues({ count: 5, turns: TURNS }).flatMap(({ exchanges }) => exchanges);

export const FIRST_CHINESE = EXCHANGES.length / 2;

/** The user's message of an exchange, `added`, and the number of the wanted answer. */
export function messageOf(exchange: number, added = ""): string {
  const place = exchange % EXCHANGES.length;
  return `${EXCHANGES[place]?.user ?? ""} ${added} [answer ${place}]`;
}

/** Only at the very end: recalled messages before it have such marks too. */
const WANTED = /(mark-\w+)?\s*\[answer (\d+)\]\s*$/;

/** The answer that a message asks for, or null. It begins with the word that readers of streams wait for. */
export function answerTo(message: string): string | null {
  const wanted = WANTED.exec(message);
  if (!wanted) return null;
  return `word0 ${wanted[1] ?? ""} ${EXCHANGES[Number(wanted[2])]?.assistant ?? ""}`;
}
