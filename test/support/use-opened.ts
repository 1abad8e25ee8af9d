import { afterAll, beforeAll } from "@jest/globals";

const closers: (() => unknown)[] = [];

/** What `open` gives, from before the first test of the block around it until after the last. What is opened later is closed earlier. */
export function useOpened<Opened extends { close(): unknown }>(open: () => Promise<Opened>, timeoutMs?: number): Opened {
  const opened = {} as Opened;
  beforeAll(async () => {
    closers.push(() => opened.close?.());
    Object.assign(opened, await open());
  }, timeoutMs);
  // Jest runs these in the order of their definition.
  afterAll(async () => void (await closers.pop()?.()), timeoutMs);
  return opened;
}
