import { signal } from "@preact/signals";
import { readTab, writeTab } from "./tab-storage.ts";

const STORED_AS = "key";

/** The key of this tab: kept until the tab is closed, and nowhere else. */
export const apiKey = signal<string | null>(readTab<string>(STORED_AS));
/** Whether the page has to ask for a key, and whether because the one it had was refused. */
export const keyDialog = signal<{ refused: boolean } | null>(null);

let given = Promise.withResolvers<void>();

/** Waits until there is another key than the one that was refused. */
export async function whenKeyIsGiven(refused: string | null): Promise<void> {
  if (apiKey.value !== refused) return;
  keyDialog.value ??= { refused: refused !== null };
  await given.promise;
}

/** Takes the key that somebody typed; requests that waited for it are sent again. */
export function giveKey(key: string): void {
  apiKey.value = key;
  writeTab(STORED_AS, key);
  keyDialog.value = null;
  given.resolve();
  given = Promise.withResolvers<void>();
}

/** Forgets the key of this tab. */
export function forgetKey(): void {
  apiKey.value = null;
  writeTab(STORED_AS, null);
}
