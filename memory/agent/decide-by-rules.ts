import { setImmediate as letOthersRun } from "node:timers/promises";
import { decideSections } from "../../models/offline/decide-sections.ts";
import { SECTION_CHARACTERS } from "./core-sections.ts";
import type { DecideMemory } from "./remember-turns.ts";

/** In milliseconds: what the rules may take for the turns that are read together. What is left of them then is not read. */
const BUDGET_MS = 500;

/** Decides without a model, by rules for the clear cases, on what the user said alone. */
export const decideByRules: DecideMemory = makeDecideByRules({ budgetMs: BUDGET_MS });

/** `budgetMs` is for all turns of a reading. Between two of them the event loop goes round. */
export function makeDecideByRules({ budgetMs }: { budgetMs: number }): DecideMemory {
  return async function decideByRules({ memory, turns, sections, newestIn }) {
    let spentMs = 0;
    for (const turn of turns) {
      if (spentMs > budgetMs) return;
      await letOthersRun();
      const began = performance.now();
      const before = memory.contents();
      // What was said before a section was last changed may add to it, but takes nothing back.
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
