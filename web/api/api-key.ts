import { signal } from "@preact/signals";
import { readTab, writeTab } from "../browser/tab-storage.ts";

const STORED_AS = "key";

/** Kept until the tab is closed, and nowhere else. */
export const apiKey = signal<string | null>(readTab<string>(STORED_AS));
/** Null when no key is needed; `refused`: the given one is wrong. */
export const keyDialog = signal<{ refused: boolean } | null>(null);

let given = Promise.withResolvers<void>();

/** Waits for another key than the refused one. */
export async function whenKeyIsGiven(refused: string | null): Promise<void> {
  if (apiKey.value !== refused) return;
  keyDialog.value ??= { refused: refused !== null };
  await given.promise;
}

export function giveKey(key: string): void {
  apiKey.value = key;
  writeTab(STORED_AS, key);
  keyDialog.value = null;
  given.resolve();
  given = Promise.withResolvers<void>();
}

export function forgetKey(): void {
  apiKey.value = null;
  writeTab(STORED_AS, null);
}
