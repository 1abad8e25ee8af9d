import { signal } from "@preact/signals";
import { readTab, writeTab } from "../../browser/tab-storage.ts";

/** Older ones are forgotten. */
const KEPT = 50;

/** What is not yet sent, by conversation. It lasts as long as the tab. */
export function makeUnsent<Value>(storedAs: string) {
  const kept = signal(readTab<[sessionId: string, value: Value][]>(storedAs) ?? []);
  return {
    of: (session: string): Value | undefined => kept.value.find(([id]) => id === session)?.[1],
    keep(session: string, value: Value | null): void {
      const others = kept.value.filter(([id]) => id !== session);
      kept.value = value === null ? others : [[session, value] as [string, Value], ...others].slice(0, KEPT);
      writeTab(storedAs, kept.value);
    },
  };
}

/** What was written. */
export const drafts = makeUnsent<string>("drafts");
