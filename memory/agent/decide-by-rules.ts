import { decideOffline } from "./offline/decide-offline.ts";
import type { DecideMemory } from "./remember-turns.ts";
import { triggerOf } from "./turn-to-read.ts";

/** Decides without a model, by rules for the clear cases, on what the user said alone. */
export const decideByRules: DecideMemory = async ({ memory, turns, sections, newestIn }) => {
  for (const turn of turns) {
    const before = memory.contents();
    // What was said before a section was last changed may add to it, but takes nothing back.
    const isOlder = (section: string): boolean => turn.saidAt < (newestIn.get(section) ?? new Date(0));
    const updates = decideOffline(before, turn.userMessage).filter(({ section }) => !isOlder(section));
    const additions = sections.some(isOlder)
      ? decideOffline(before, turn.userMessage, { onlyAdd: true }).filter(({ section }) => isOlder(section))
      : [];
    for (const { section, content, reason } of [...updates, ...additions]) {
      if (!sections.includes(section)) continue;
      await memory.call({ name: "core_memory_update", arguments: { section, content, reason } }, triggerOf(turn));
    }
  }
};
