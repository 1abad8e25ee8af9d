import { AsyncLocalStorage } from "node:async_hooks";
import type { ModelPrices } from "../../models/facts/model-facts.ts";
import { costOf } from "../../models/facts/prompt-budget.ts";
import { type ModelPurpose, NOOP_OBSERVER, type Observer, type WorkFacts } from "../../observe/observer.ts";
import type { Owner } from "../../turn/owner.ts";
import type { UsageStore, UsedCalls } from "../../stores/postgres/usage/usage-store.ts";

/** Milliseconds until a call is written, with others. */
const WRITE_AFTER_MS = 1_000;

export interface UsageMeterParts {
  store: Pick<UsageStore, "add">;
  pricesOf: (model: string) => ModelPrices | null;
  /** Called when calls could not be written; the next write has them. */
  onError: (error: unknown) => void;
  now?: () => number;
}

/** Whose work it is, and since when. */
interface Work extends Owner {
  began: number;
}

export type UsageMeter = ReturnType<typeof makeUsageMeter>;

/** A call that failed before its first token has probably used nothing. */
const tookNothing = ({ inputTokens, outputTokens = 0, tokensAreEstimated, outcome }: WorkFacts): boolean =>
  inputTokens === undefined || (outputTokens === 0 && tokensAreEstimated === true && outcome !== undefined);

/** Counts calls of models for their owners, and writes the sums within a second. */
export function makeUsageMeter({ store, pricesOf, onError, now = Date.now }: UsageMeterParts) {
  const working = new AsyncLocalStorage<Work>();
  let sums = new Map<string, UsedCalls>();
  const costs = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();

  function merge(one: UsedCalls): void {
    const key = JSON.stringify([one.tenantId, one.day, one.userId, one.model, one.purpose]);
    const other = sums.get(key);
    if (!other) return void sums.set(key, one);
    sums.set(key, {
      ...one,
      began: Math.min(one.began, other.began),
      calls: one.calls + other.calls,
      estimatedCalls: one.estimatedCalls + other.estimatedCalls,
      unpricedCalls: one.unpricedCalls + other.unpricedCalls,
      promptTokens: one.promptTokens + other.promptTokens,
      completionTokens: one.completionTokens + other.completionTokens,
      cachedTokens: one.cachedTokens + other.cachedTokens,
      inputUsd: one.inputUsd + other.inputUsd,
      outputUsd: one.outputUsd + other.outputUsd,
    });
  }

  function count({ tenantId, userId, began }: Work, model: string, purpose: ModelPurpose, facts: WorkFacts): void {
    if (tookNothing(facts)) return;
    const { inputTokens: promptTokens = 0, outputTokens: completionTokens = 0, cachedTokens = 0, tokensAreEstimated = false } = facts;
    const tokens = { prompt_tokens: promptTokens, completion_tokens: completionTokens, cached_tokens: cachedTokens };
    const cost = costOf(pricesOf(model), { ...tokens, estimated: false });
    merge({
      ...{ tenantId, userId, began, model, purpose, promptTokens, completionTokens, cachedTokens },
      day: new Date(now()).toISOString().slice(0, 10),
      calls: 1,
      estimatedCalls: tokensAreEstimated ? 1 : 0,
      unpricedCalls: cost ? 0 : 1,
      inputUsd: cost?.input_usd ?? 0,
      outputUsd: cost?.output_usd ?? 0,
    });
    if (cost) costs.set(tenantId, costSoFar(tenantId) + cost.input_usd + cost.output_usd);
    writeSoon();
  }

  const costSoFar = (tenantId: string): number => costs.get(tenantId) ?? 0;

  async function writeOnce(): Promise<void> {
    const taken = [...sums.values()];
    if (taken.length === 0) return;
    sums = new Map();
    try {
      await store.add(taken);
    } catch (error) {
      taken.forEach(merge);
      throw error;
    }
  }

  function write(): Promise<void> {
    writing = writing.then(writeOnce).catch(onError);
    return writing;
  }

  function writeSoon(): void {
    timer ??= setTimeout(() => {
      timer = null;
      void write().then(() => sums.size > 0 && writeSoon());
    }, WRITE_AFTER_MS).unref();
  }

  const observer: Observer = {
    ...NOOP_OBSERVER,
    async watch(work, run) {
      const owner = working.getStore();
      if (work.work !== "model_call" || !owner) return NOOP_OBSERVER.watch(work, run);
      let facts: WorkFacts = {};
      try {
        return await run((learnt) => (facts = { ...facts, ...learnt }));
      } finally {
        count(owner, work.model, work.purpose, facts);
      }
    },
  };

  return {
    observer,
    costSoFar,
    /** Never throws. */
    write,
    /**
     * All that `work` asks of models, also later, is the owner's. `began`: by `performance.now()`, no later than the work was read from the
     * database. A later erase removes the owner's name.
     */
    countFor: <Result>({ tenantId, userId }: Owner, work: () => Result, began = performance.now()): Result =>
      working.run({ tenantId, userId, began }, work),
    /** Writes what is left. */
    async close(): Promise<void> {
      if (timer) clearTimeout(timer);
      await write();
      if (timer) clearTimeout(timer);
    },
  };
}
