import type { TurnStore } from "../../stores/postgres/turns/turn-store.ts";

/** A turn store that can do only what a test gives it: any other call fails the test. */
export function makeFakeTurnStore(calls: Partial<TurnStore>): TurnStore {
  const unexpected = (name: string) => () => Promise.reject(new Error(`${name} was not expected here`));
  const names = ["begin", "findBegun", "takeBack", "renew", "finish"] as const;
  return { ...(Object.fromEntries(names.map((name) => [name, unexpected(name)])) as unknown as TurnStore), ...calls };
}
