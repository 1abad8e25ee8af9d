import { batch, computed, signal } from "@preact/signals";
import type { Source } from "./sources.ts";

/** The one panel beside the thread: a turn's details, a cited passage, or the branches. */
export const inspected = signal<string | null>(null);
export const cited = signal<Source | null>(null);
export const showsBranches = signal(false);
export const panelIsOpen = computed(() => inspected.value !== null || cited.value !== null || showsBranches.value);

/** On a narrow screen the list of conversations is a drawer. */
export const listIsOpen = signal(false);

function show(turnId: string | null, source: Source | null, branches: boolean): void {
  batch(() => {
    inspected.value = turnId;
    cited.value = source;
    showsBranches.value = branches;
  });
}

export const inspect = (turnId: string | null): void => show(turnId, null, false);

export const openSource = (source: Source): void => show(null, source, false);

export const openBranches = (): void => show(null, null, true);

export const closePanel = (): void => inspect(null);
