/** First come, first served, per key, within this process. */
export interface WaitingLine {
  /** Runs `attempt` when everyone who came earlier for the same key is through. */
  inTurn<Result>(key: string, attempt: () => Promise<Result>): Promise<Result>;
}

export function makeWaitingLine(): WaitingLine {
  const last = new Map<string, Promise<void>>();
  return {
    async inTurn(key, attempt) {
      const before = last.get(key);
      const { promise: through, resolve: leave } = Promise.withResolvers<void>();
      last.set(key, through);
      try {
        await before;
        return await attempt();
      } finally {
        if (last.get(key) === through) last.delete(key);
        leave();
      }
    },
  };
}
