import { signal } from "@preact/signals";

/** The turn that the inspector shows, by its id; null while it is closed. */
export const inspected = signal<string | null>(null);
