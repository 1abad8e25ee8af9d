import type { TurnStore } from "../../stores/postgres/turn-store.ts";

/** A turn store that can do only what a test gives it: any other call fails the test. */
export function makeFakeTurnStore(calls: Partial<TurnStore>): TurnStore {
  const unexpected = (name: string) => () => Promise.reject(new Error(`${name} was not expected here`));
  return { begin: unexpected("begin"), renew: unexpected("renew"), finish: unexpected("finish"), ...calls };
}
