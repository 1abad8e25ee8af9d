import { quoteLines } from "../text/fence.ts";
import { estimateTokens } from "./estimate-tokens.ts";

/** Share of the kept text that comes from the beginning; the rest is the end, where a question usually stands. */
const HEAD = 0.6;

/** Whole characters of `text` from its beginning, about `tokens` of them. */
function take(characters: string[], tokens: number): number {
  let count = Math.min(characters.length, tokens * 4);
  while (count > 0 && estimateTokens(characters.slice(0, count).join("")) > tokens) count = Math.floor(count * 0.8);
  return count;
}

/** The text itself when it has at most `maxTokens`, else its beginning and end with a mark of how much is left out in between. */
export function shortenText(text: string, maxTokens: number): string {
  if (estimateTokens(text) <= maxTokens) return text;
  const characters = [...text];
  const markTokens = 12;
  const room = Math.max(0, maxTokens - markTokens);
  const head = take(characters, Math.floor(room * HEAD));
  const tail = take(characters.toReversed(), room - Math.floor(room * HEAD));
  const left = characters.length - head - tail;
  return `${characters.slice(0, head).join("")} […${left} characters left out…] ${tail === 0 ? "" : characters.slice(-tail).join("")}`;
}

/** The text, shortened as far as it has to be to have at most `maxTokens` as it stands in a fence, where each line is marked. */
export function shortenQuoted(text: string, maxTokens: number): string {
  for (let room = maxTokens; ;) {
    const shorter = shortenText(text, room);
    const over = estimateTokens(quoteLines(shorter)) - maxTokens;
    if (over <= 0 || room <= 0) return shorter;
    room -= over;
  }
}
