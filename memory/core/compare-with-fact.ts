import { readLine } from "../../models/offline/decide-sections.ts";
import { lexicalWords } from "../../text/lexical-text.ts";

export interface RuleLine {
  section: string;
  text: string;
}

const NEGATIVE = /\b(?:dislik\w*|hat(?:e|es|ed|ing)|detest\w*|avoid\w*|not|never|no longer|stopped)\b|n['’]t\b|不|讨厌|没|受不了/iu;

const LIKING =
  /\b(?:(?:dis)?lik\w*|lov\w*|enjoy\w*|prefer\w*|hat(?:e|es|ed|ing)|detest\w*|avoid\w*|stopped|stand|fan|fond)\b|喜欢|爱|讨厌|受不了/iu;
const CLAUSE_END = /[;,；，。]|\b(?:but|and)\b|但/iu;

/** The part of a line about these words: "likes tea" in "Dislikes jazz; likes tea". A clause without a liking joins the one before. */
function statementOf(line: string, words: readonly string[]): string {
  const statements: string[] = [];
  for (const clause of line.split(CLAUSE_END)) {
    if (statements.length > 0 && !LIKING.test(clause)) statements.push(`${statements.pop()} ${clause}`);
    else statements.push(clause);
  }
  const counts = statements.map((statement) => lexicalWords(statement).filter((word) => words.includes(word)).length);
  return statements.filter((_, index) => counts[index] === Math.max(...counts)).join(" ");
}

/**
 * Compares a model's line with a fact in the rules' words. A match needs half of the words and every number; a liking and a dislike of one
 * thing are opposites.
 */
export function compareWithFact(line: string, { section, text }: RuleLine): "same" | "opposite" | "neither" {
  const fact = readLine({ section, text });
  const wanted = lexicalWords(fact?.value ?? text);
  const own = new Set(lexicalWords(line));
  const found = wanted.filter((word) => own.has(word));
  const hasNumbers = wanted.every((word) => !/\p{N}/u.test(word) || own.has(word));
  if (found.length === 0 || found.length * 2 < wanted.length || !hasNumbers) return "neither";
  if (!fact?.intent.no) return "same";
  return NEGATIVE.test(statementOf(line, found)) === (fact.holds === "no") ? "same" : "opposite";
}
