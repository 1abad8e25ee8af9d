import { batch, signal } from "@preact/signals";
import type { Source } from "./sources.ts";

/** What stands beside the thread: the details of a turn, or a cited passage. One of them at most. */
export const inspected = signal<string | null>(null);
export const cited = signal<Source | null>(null);

/** On a narrow screen the list of conversations is a drawer. */
export const listIsOpen = signal(false);

export function inspect(turnId: string | null): void {
  batch(() => {
    inspected.value = turnId;
    cited.value = null;
  });
}

export function openSource(source: Source): void {
  batch(() => {
    inspected.value = null;
    cited.value = source;
  });
}

export const closePanel = (): void => inspect(null);
