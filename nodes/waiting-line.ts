import { orAborted } from "../models/or-aborted.ts";

/** First come, first served, per key, within this process. */
export interface WaitingLine {
  /**
   * Runs `attempt` when everyone who came earlier for the same key is through. Throws the signal's reason when it aborts while waiting;
   * those behind keep their order.
   */
  inTurn<Result>(key: string, attempt: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

export function makeWaitingLine(): WaitingLine {
  const last = new Map<string, Promise<void>>();
  return {
    async inTurn(key, attempt, signal) {
      const before = last.get(key);
      const { promise: through, resolve: leave } = Promise.withResolvers<void>();
      last.set(key, through);
      try {
        if (before) await orAborted(() => before, signal);
        return await attempt();
      } finally {
        // Whoever gave up does not let those behind pass the ones before.
        void Promise.resolve(before).then(() => {
          if (last.get(key) === through) last.delete(key);
          leave();
        });
      }
    },
  };
}
