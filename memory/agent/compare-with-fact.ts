import { readLine } from "../../models/offline/decide-sections.ts";
import { lexicalText } from "../../text/lexical-text.ts";

/** A line as the rules write it, with its section. */
export interface RuleLine {
  section: string;
  text: string;
}

const NEGATIVE = /\b(?:dislik\w*|hat(?:e|es|ed|ing)|detest\w*|avoid\w*|not|never|no longer|stopped)\b|n['’]t\b|不|讨厌|没|受不了/iu;

const wordsOf = (text: string): string[] => lexicalText(text).split(" ").filter(Boolean);

/**
 * What a model's line says of a fact in the words of the rules: the same, in words of its own; the opposite; or nothing of it. It needs half
 * of the words and every number; a liking and a dislike of the same thing are opposites.
 */
export function compareWithFact(line: string, { section, text }: RuleLine): "same" | "opposite" | "neither" {
  const fact = readLine({ section, text });
  const wanted = wordsOf(fact?.value ?? text);
  const own = new Set(wordsOf(line));
  const found = wanted.filter((word) => own.has(word));
  const hasNumbers = wanted.every((word) => !/\p{N}/u.test(word) || own.has(word));
  if (found.length === 0 || found.length * 2 < wanted.length || !hasNumbers) return "neither";
  return fact?.topic === "taste" && NEGATIVE.test(line) !== (fact.holds === "no") ? "opposite" : "same";
}
