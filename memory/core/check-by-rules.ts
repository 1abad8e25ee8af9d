import { linesOf } from "../../stores/postgres/memory/section-versions.ts";
import { compareWithFact, type RuleLine } from "./compare-with-fact.ts";
import { makeDecideByRules, type RulesReading } from "./decide-by-rules.ts";

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
