import { setImmediate as letOthersRun } from "node:timers/promises";
import { decideSections } from "../../models/offline/decide-sections.ts";
import { SECTION_CHARACTERS } from "./tool-schemas.ts";
import type { Reading } from "./remember-turns.ts";
import type { ToolRunner } from "./run-tool-calls.ts";
import type { DecidedSection } from "./section-drafts.ts";

/** Milliseconds for the turns that are read together; the rest is not read. */
const BUDGET_MS = 500;

type RulesReading = Omit<Reading, "memory"> & { memory: Pick<ToolRunner, "contents" | "write"> };
type DecideByRules = (reading: RulesReading, signal?: AbortSignal) => Promise<void>;

/** Decides without a model, by rules for the clear cases. */
export const decideByRules: DecideByRules = makeDecideByRules({ budgetMs: BUDGET_MS });

export function makeDecideByRules({ budgetMs }: { budgetMs: number }): DecideByRules {
  return async function decideByRules({ memory, turns, sections, newestIn }) {
    let spentMs = 0;
    for (const turn of turns) {
      if (spentMs > budgetMs) return;
      await letOthersRun();
      const began = performance.now();
      const before = memory.contents();
      const isOlder = (section: string): boolean => turn.saidAt < (newestIn.get(section) ?? new Date(0));
      const decide = (onlyAdd: boolean) => decideSections(before, turn.userMessage, { onlyAdd, sectionLimit: SECTION_CHARACTERS });
      const decided = decide(false).filter(({ section }) => !isOlder(section));
      const additions = sections.some(isOlder) ? decide(true).filter(({ section }) => isOlder(section)) : [];
      spentMs += performance.now() - began;
      for (const { section, lines, reason } of [...decided, ...additions]) {
        if (sections.includes(section)) memory.write({ section, lines, reason }, turn);
      }
    }
  };
}

/** The sections that the rules would change, with their lines as they would be. Nothing is written. */
export async function plainFacts(
  reading: Omit<RulesReading, "memory"> & { memory: Pick<ToolRunner, "contents"> },
): Promise<DecidedSection[]> {
  const contents = reading.memory.contents();
  const decided = new Map<string, DecidedSection>();
  const memory: RulesReading["memory"] = {
    contents: () => ({ ...contents }),
    write(change) {
      decided.set(change.section, change);
      contents[change.section] = change.lines.map(({ text }) => text).join("\n");
    },
  };
  const before = { ...contents };
  await decideByRules({ ...reading, memory });
  return [...decided.values()].filter(({ section }) => contents[section] !== (before[section] ?? ""));
}
