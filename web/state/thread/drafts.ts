import { readTab, writeTab } from "../../browser/tab-storage.ts";

const STORED_AS = "drafts";
/** Older ones are forgotten. */
const KEPT = 50;

type Drafts = [sessionId: string, text: string][];

/** What was written and not sent, by conversation. It lasts as long as the tab. */
export function readDraft(sessionId: string): string {
  return readTab<Drafts>(STORED_AS)?.find(([session]) => session === sessionId)?.[1] ?? "";
}

export function keepDraft(sessionId: string, text: string): void {
  const others = (readTab<Drafts>(STORED_AS) ?? []).filter(([session]) => session !== sessionId);
  writeTab(STORED_AS, text === "" ? others : [[sessionId, text], ...others].slice(0, KEPT));
}
