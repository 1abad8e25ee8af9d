/** A context by which a model's server has refused a longer prompt. */
export interface LearnedContext {
  model: string;
  tokens: number;
  at: Date;
}

export interface LearnedContexts {
  /** Undefined: unknown, or out of date. */
  of(model: string): number | undefined;
  /** `isTold`: the server has named it. Else it is a guess, kept in this process alone. */
  learn(model: string, tokens: number, options: { isTold: boolean }): void;
  /** The server has told another context since. */
  replace(model: string, askedAt: Date): void;
}

/** A restarted server may have a larger context. Finding out costs one refused prompt a week. */
const LIFETIME_MS = 7 * 86_400_000;

export interface LearnedContextsParts {
  stored?: readonly LearnedContext[];
  save?: (learned: LearnedContext) => void;
  now?: () => Date;
}

export function makeLearnedContexts({
  stored = [],
  save = () => undefined,
  now = () => new Date(),
}: LearnedContextsParts = {}): LearnedContexts {
  const known = new Map(stored.map((one) => [one.model, one]));
  return {
    of(model) {
      const one = known.get(model);
      return one && now().getTime() - one.at.getTime() < LIFETIME_MS ? one.tokens : undefined;
    },
    learn(model, tokens, { isTold }) {
      const one = { model, tokens, at: now() };
      known.set(model, one);
      if (isTold) save(one);
    },
    replace(model, askedAt) {
      const one = known.get(model);
      if (one && one.at < askedAt) known.delete(model);
    },
  };
}
