import { estimateTokens } from "../../models/estimate-tokens.ts";

const MARK = "…";

/** The sentence itself when it has at most `maxTokens`, else whole words of its beginning and "…"; "" when not even that fits. */
export function shortenSentence(sentence: string, maxTokens: number): string {
  // Four characters are at least one token, so a longer beginning never fits.
  const longest = Math.max(0, Math.floor(maxTokens) * 4);
  if (sentence.length <= longest && estimateTokens(sentence) <= maxTokens) return sentence;
  let [fitting, tooLong] = [0, Math.min(sentence.length, longest) + 1];
  while (tooLong - fitting > 1) {
    const middle = Math.floor((fitting + tooLong) / 2);
    if (estimateTokens(sentence.slice(0, middle) + MARK) <= maxTokens) fitting = middle;
    else tooLong = middle;
  }
  // A cut may have left half of a character of two code units.
  const beginning = sentence.slice(0, fitting).replace(/[\uD800-\uDBFF]$/, "");
  const space = beginning.lastIndexOf(" ");
  const kept = (space > beginning.length / 2 ? beginning.slice(0, space) : beginning).replace(/(?<![\s…])[\s…]+$/, "");
  return kept === "" ? "" : kept + MARK;
}
