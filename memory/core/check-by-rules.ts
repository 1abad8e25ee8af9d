import { linesOf } from "../../stores/postgres/memory/section-versions.ts";
import { compareWithFact, type RuleLine } from "./compare-with-fact.ts";
import { makeDecideByRules, type RulesReading } from "./decide-by-rules.ts";

type Contents = Readonly<Record<string, string>>;

/** A line on which core memory and what the user plainly said do not fit. */
export interface Contradiction extends RuleLine {
  /** It lacks this line, says it although it is over, or says the opposite. */
  is: "missing" | "over" | "opposite";
}

/** What the built-in rules have to say about a model's decisions on one reading. They write nothing. */
export interface RulesCheck {
  contradictions(contents: Contents): Contradiction[];
  /** Whether a line goes that was there before the reading and that the rules leave. */
  loses(now: Contents, next: Contents): boolean;
}

/** What a model has read is checked whole. */
const decideOnAll = makeDecideByRules({ budgetMs: Infinity });

const isThere = (contents: Contents, { section, text }: RuleLine): boolean => linesOf(contents[section] ?? "").includes(text);

/** The lines of `after` that are not in `before`. */
const newLines = (before: Contents, after: Contents): RuleLine[] =>
  Object.entries(after)
    .flatMap(([section, content]) => linesOf(content).map((text) => ({ section, text })))
    .filter((line) => !isThere(before, line));

/** Makes the check of what a model does to core memory from `before` on. The model may say a fact in words of its own, in any section. */
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
