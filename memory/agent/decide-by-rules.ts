import { setImmediate as letOthersRun } from "node:timers/promises";
import { decideSections } from "../../models/offline/decide-sections.ts";
import { SECTION_CHARACTERS } from "./tool-schemas.ts";
import type { DecideMemory } from "./remember-turns.ts";

/** Milliseconds for the turns that are read together; the rest is not read. */
const BUDGET_MS = 500;

/** Decides without a model, by rules for the clear cases. */
export const decideByRules: DecideMemory = makeDecideByRules({ budgetMs: BUDGET_MS });

export function makeDecideByRules({ budgetMs }: { budgetMs: number }): DecideMemory {
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
