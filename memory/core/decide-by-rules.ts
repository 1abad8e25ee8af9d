import { setImmediate as letOthersRun } from "node:timers/promises";
import { decideSections } from "../../models/offline/decide-sections.ts";
import { SECTION_CHARACTERS } from "./tool-schemas.ts";
import { linesOf } from "../../stores/postgres/memory/section-versions.ts";
import { compareWithFact, type RuleLine } from "./compare-with-fact.ts";
import type { Reading } from "./remember-turns.ts";
import type { ToolRunner } from "./run-tool-calls.ts";
import type { DecidedSection } from "./section-drafts.ts";

/** Milliseconds of processor time for the turns that are read together. */
const BUDGET_MS = 500;

type RulesReading = Omit<Reading, "memory"> & { memory: Pick<ToolRunner, "contents" | "write"> };
type DecideByRules = (reading: RulesReading, signal?: AbortSignal) => Promise<number>;

/** Decides without a model, by rules for the clear cases. */
export const decideByRules: DecideByRules = makeDecideByRules({ budgetMs: BUDGET_MS });

/** What a model has read is checked whole. */
const decideOnAll: DecideByRules = makeDecideByRules({ budgetMs: Infinity });

/** In milliseconds; of all threads where Node cannot tell that of one (before 23.9). */
function processorTime(): number {
  const usage = "threadCpuUsage" in process ? process.threadCpuUsage() : (process as NodeJS.Process).cpuUsage();
  return (usage.user + usage.system) / 1_000;
}

/** Reads at least one turn, and others while there is processor time left. */
export function makeDecideByRules({ budgetMs }: { budgetMs: number }): DecideByRules {
  return async function decideByRules({ memory, turns, sections, newestIn }) {
    let spentMs = 0;
    for (const [position, turn] of turns.entries()) {
      if (position > 0 && spentMs >= budgetMs) return position;
      await letOthersRun();
      const began = processorTime();
      const before = memory.contents();
      const isOlder = (section: string): boolean => turn.saidAt < (newestIn.get(section) ?? new Date(0));
      const decide = (onlyAdd: boolean) => decideSections(before, turn.userMessage, { onlyAdd, sectionLimit: SECTION_CHARACTERS });
      const decided = decide(false).filter(({ section }) => !isOlder(section));
      const additions = sections.some(isOlder) ? decide(true).filter(({ section }) => isOlder(section)) : [];
      spentMs += processorTime() - began;
      for (const written of [...decided, ...additions]) if (sections.includes(written.section)) memory.write(written, turn);
    }
    return turns.length;
  };
}

type Contents = Readonly<Record<string, string>>;

/** What the rules see and a model's calls have not kept, with the sections as the rules alone would have made them. */
export interface UnkeptFacts {
  sections: DecidedSection[];
  keep(): Promise<void>;
}

/**
 * The plain facts that are missing after a model's calls. A line that the model wrote in this reading may say a fact in its own words; one
 * that says the opposite goes when the fact is kept. Nothing is written yet.
 */
export async function findUnkeptFacts(reading: RulesReading, beforeTheCalls: Contents): Promise<UnkeptFacts> {
  const contents = reading.memory.contents();
  const byModel = newLines(beforeTheCalls, contents);
  const wanted = await decideAside(reading, beforeTheCalls);
  const facts = newLines(beforeTheCalls, wanted.contents);
  const opposite = byModel.filter(({ text }) => facts.some((fact) => compareWithFact(text, fact) === "opposite"));
  const isSaid = (fact: RuleLine): boolean =>
    isThere(contents, fact) || byModel.some((line) => compareWithFact(line.text, fact) === "same");
  const isOver = newLines(wanted.contents, beforeTheCalls);
  const isKept = opposite.length === 0 && facts.every(isSaid) && !isOver.some((line) => isThere(contents, line));
  return {
    sections: isKept ? [] : wanted.sections,
    keep: async () => void (await decideOnAll({ ...reading, memory: besideModel(reading.memory, byModel, opposite) })),
  };
}

/** What the rules would make of these contents. */
async function decideAside(reading: RulesReading, before: Contents): Promise<{ sections: DecidedSection[]; contents: Contents }> {
  const contents = { ...before };
  const decided = new Map<string, DecidedSection>();
  const memory: RulesReading["memory"] = {
    contents: () => ({ ...contents }),
    write(change) {
      decided.set(change.section, change);
      contents[change.section] = change.lines.map(({ text }) => text).join("\n");
    },
  };
  await decideOnAll({ ...reading, memory });
  return { sections: [...decided.values()].filter(({ section }) => contents[section] !== (before[section] ?? "")), contents };
}

const isThere = (contents: Contents, { section, text }: RuleLine): boolean => linesOf(contents[section] ?? "").includes(text);

const newLines = (before: Contents, after: Contents): RuleLine[] =>
  Object.entries(after)
    .flatMap(([section, content]) => linesOf(content).map((text) => ({ section, text })))
    .filter((line) => !isThere(before, line));

/** Takes from the rules no line that the model has said in its own words, and takes out what the model wrote against them. */
function besideModel(memory: RulesReading["memory"], byModel: readonly RuleLine[], opposite: readonly RuleLine[]): RulesReading["memory"] {
  return {
    contents: memory.contents,
    write(decided, source) {
      const contents = memory.contents();
      const saying = byModel.filter((line) => isThere(contents, line) && !opposite.includes(line));
      const isTaken = (line: RuleLine): boolean =>
        isThere(contents, line)
          ? !opposite.some(({ section, text }) => section === line.section && text === line.text)
          : !saying.some(({ text }) => compareWithFact(text, line) === "same");
      memory.write({ ...decided, lines: decided.lines.filter(({ text }) => isTaken({ section: decided.section, text })) }, source);
    },
  };
}
