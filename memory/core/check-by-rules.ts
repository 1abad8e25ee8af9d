import { linesOf } from "../../stores/postgres/memory/section-versions.ts";
import { makeDecideByRules, type RulesReading } from "./decide-by-rules.ts";
import { readLine } from "../../models/offline/decide-sections.ts";
import { lexicalWords } from "../../text/lexical-text.ts";

interface RuleLine {
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
function compareWithFact(line: string, { section, text }: RuleLine): "same" | "opposite" | "neither" {
  const fact = readLine({ section, text });
  const wanted = lexicalWords(fact?.value ?? text);
  const own = new Set(lexicalWords(line));
  const found = wanted.filter((word) => own.has(word));
  const hasNumbers = wanted.every((word) => !/\p{N}/u.test(word) || own.has(word));
  if (found.length === 0 || found.length * 2 < wanted.length || !hasNumbers) return "neither";
  if (!fact?.intent.no) return "same";
  return NEGATIVE.test(statementOf(line, found)) === (fact.holds === "no") ? "same" : "opposite";
}

type Contents = Readonly<Record<string, string>>;

/** A line where core memory contradicts what the user plainly said. */
export interface Contradiction extends RuleLine {
  /** The line is missing, is there although it is over, or is there as its opposite. */
  is: "missing" | "over" | "opposite";
}

/** The built-in rules' check of a model's decisions. It writes nothing. */
export interface RulesCheck {
  contradictions(contents: Contents): Contradiction[];
  /** Whether an earlier line goes that the rules keep. */
  loses(now: Contents, next: Contents): boolean;
}

const decideOnAll = makeDecideByRules({ budgetMs: Infinity });

const isThere = (contents: Contents, { section, text }: RuleLine): boolean => linesOf(contents[section] ?? "").includes(text);

const newLines = (before: Contents, after: Contents): RuleLine[] =>
  Object.entries(after)
    .flatMap(([section, content]) => linesOf(content).map((text) => ({ section, text })))
    .filter((line) => !isThere(before, line));

/** Makes the check of what a model does to core memory from `before` on. The model may word a fact freely, in any section. */
export async function makeRulesCheck(reading: RulesReading, before: Contents): Promise<RulesCheck> {
  const byRules: Record<string, string> = { ...before };
  await decideOnAll({
    ...reading,
    memory: {
      contents: () => ({ ...byRules }),
      write: ({ section, lines }) => void (byRules[section] = lines.map(({ text }) => text).join("\n")),
    },
  });
  const facts = newLines(before, byRules);
  const isOver = newLines(byRules, before);
  const as = (is: Contradiction["is"], lines: readonly RuleLine[]) => lines.map((line): Contradiction => ({ ...line, is }));
  return {
    contradictions(contents) {
      const byModel = newLines(before, contents);
      const says = (what: "same" | "opposite", line: RuleLine, fact: RuleLine) => compareWithFact(line.text, fact) === what;
      const isSaid = (fact: RuleLine): boolean => isThere(contents, fact) || byModel.some((line) => says("same", line, fact));
      return [
        ...as(
          "missing",
          facts.filter((fact) => !isSaid(fact)),
        ),
        ...as(
          "over",
          isOver.filter((line) => isThere(contents, line)),
        ),
        ...as(
          "opposite",
          byModel.filter((line) => facts.some((fact) => says("opposite", line, fact))),
        ),
      ];
    },
    loses: (now, next) => newLines(next, now).some((line) => isThere(before, line) && isThere(byRules, line)),
  };
}
