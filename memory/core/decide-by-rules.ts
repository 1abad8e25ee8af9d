import { setImmediate as letOthersRun } from "node:timers/promises";
import { decideSections } from "../../models/offline/decide-sections.ts";
import { SECTION_CHARACTERS } from "./tool-schemas.ts";
import type { Reading } from "./remember-turns.ts";
import type { ToolRunner } from "./run-tool-calls.ts";

/** Milliseconds of processor time for turns that are read together. */
const BUDGET_MS = 500;

export type RulesReading = Omit<Reading, "memory"> & { memory: Pick<ToolRunner, "contents" | "write"> };
type DecideByRules = (reading: RulesReading, signal?: AbortSignal) => Promise<number>;

/** Decides the clear cases by rules, without a model. */
export const decideByRules: DecideByRules = makeDecideByRules({ budgetMs: BUDGET_MS });

/** Milliseconds of this thread, or of all threads before Node 23.9. */
function processorTime(): number {
  const usage = "threadCpuUsage" in process ? process.threadCpuUsage() : (process as NodeJS.Process).cpuUsage();
  return (usage.user + usage.system) / 1_000;
}

/** Reads at least one turn, and more while there is processor time. */
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
