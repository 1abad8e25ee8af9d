import { z } from "zod";
import { startDeadline } from "../../turn/deadlines.ts";
import { type Amendment, AMENDMENTS } from "../wire/amendments.ts";
import { findKnownModel } from "./find-known-model.ts";
import { type LearnedContexts, makeLearnedContexts } from "./learned-contexts.ts";

/** The source of a fact: a server's refusal, MODEL_PROFILES, the server's own word, LangChain's profiles, or none. */
export const FactSource = z.enum(["refusal", "file", "server", "profile", "assumed"]);
export type FactSource = z.infer<typeof FactSource>;

const tokens = z.int("must be a whole number").min(1, "must be 1 or more");
const price = z.number("must be a number").min(0, "must be 0 or more");

/** In US dollars for a million tokens. Without `cached_input` cached tokens cost as much as others. */
export const ModelPrices = z.strictObject({ input: price, output: price, cached_input: price.optional() });
export type ModelPrices = z.infer<typeof ModelPrices>;

/** An operator's facts of a model; the rest comes from elsewhere. */
export const ModelProfile = z.strictObject({
  context_window: tokens.min(512, "must be 512 or more").optional(),
  max_output_tokens: tokens.optional(),
  prices: ModelPrices.optional(),
  capabilities: z.array(z.string()).optional(),
  amendments: z.array(z.enum(Object.keys(AMENDMENTS) as Amendment[], `must be some of ${Object.keys(AMENDMENTS).join(", ")}`)).optional(),
});
export type ModelProfile = z.infer<typeof ModelProfile>;

/** The smallest context that local servers commonly have. */
export const ASSUMED_CONTEXT = 8_192;

/** Null: unknown. `sources` names the source of each known fact. */
export interface ModelFacts {
  name: string;
  context_window: number;
  max_output_tokens: number | null;
  prices: ModelPrices | null;
  capabilities: readonly string[] | null;
  sources: { context_window: FactSource } & Partial<Record<"max_output_tokens" | "prices" | "capabilities", FactSource>>;
}

/** A server's word about a model; `isFirm` is false when it may change. */
export interface ToldContext {
  tokens: number;
  isFirm: boolean;
}

/** Null: the server answers, and does not tell. Throws while it is away. */
export type AskContext = (model: string, signal: AbortSignal) => Promise<ToldContext | null>;

interface Choice<Value> {
  value: Value | undefined;
  source: FactSource;
}

const firstKnown = <Value>(choices: readonly Choice<Value>[]): Choice<Value> | undefined =>
  choices.find(({ value }) => value !== undefined);

/** The operator's word beats the server's, which beats published facts: a server may run a model with a smaller context. */
function combine(
  { name, servedAs }: { name: string; servedAs: string },
  file: ModelProfile,
  told: number | undefined,
  learned: number | undefined,
): ModelFacts {
  const known = findKnownModel(servedAs);
  const believed = firstKnown([
    { value: file.context_window, source: "file" },
    { value: told, source: "server" },
    { value: known?.context, source: "profile" },
  ]) ?? { value: ASSUMED_CONTEXT, source: "assumed" as const };
  // A refusal beats every source.
  const context =
    learned !== undefined && learned < (believed.value ?? Infinity) ? { value: learned, source: "refusal" as const } : believed;
  const output = firstKnown([
    { value: file.max_output_tokens, source: "file" },
    { value: known?.output, source: "profile" },
  ]);
  const can = firstKnown<readonly string[]>([
    { value: file.capabilities, source: "file" },
    { value: known?.can, source: "profile" },
  ]);
  return {
    name,
    context_window: context.value ?? ASSUMED_CONTEXT,
    max_output_tokens: output?.value ?? null,
    prices: file.prices ?? null,
    capabilities: can?.value ?? null,
    sources: {
      context_window: context.source,
      ...(output ? { max_output_tokens: output.source } : {}),
      ...(file.prices ? { prices: "file" as const } : {}),
      ...(can ? { capabilities: can.source } : {}),
    },
  };
}

export interface ModelFactsParts {
  /** By the model's name. */
  profiles: Readonly<Record<string, ModelProfile>>;
  ask: AskContext | null;
  /** Default: nothing, and kept in this process. */
  learned?: LearnedContexts;
  /** Milliseconds until a server that was away or undecided is asked again. Default 30,000. */
  askAgainMs?: number;
  /** A model's name at its server. Default: its name. */
  servedAs?: (name: string) => string;
  /** Called once for each used model with an unknown context. */
  onAssumed?: (model: string) => void;
}

/** Milliseconds for a server's answer. */
const ASK_MS = 5_000;
interface Asked {
  told: number | undefined;
  askAgainAt: number;
}

export type ModelFactsSource = ReturnType<typeof makeModelFacts>;

/** Knows the facts of models. It asks servers in the background: nobody waits. */
export function makeModelFacts({
  profiles,
  ask,
  learned = makeLearnedContexts(),
  askAgainMs = 30_000,
  servedAs = (name) => name,
  onAssumed = () => undefined,
}: ModelFactsParts) {
  const asked = new Map<string, Asked>();
  const warned = new Set<string>();
  const closing = new AbortController();

  async function askServer(model: string, askContext: AskContext): Promise<void> {
    const { told } = asked.get(model) ?? {};
    const entry: Asked = { told, askAgainAt: Infinity };
    asked.set(model, entry);
    using deadline = startDeadline(ASK_MS, closing.signal);
    const askedAt = new Date();
    try {
      const answer = await askContext(model, deadline.signal);
      if (answer?.isFirm) learned.replace(model, askedAt);
      entry.told = answer?.tokens ?? told;
      if (answer?.isFirm === false) entry.askAgainAt = performance.now() + askAgainMs;
    } catch {
      entry.askAgainAt = performance.now() + askAgainMs;
    }
  }

  /** What is known by now. Asks a due server for the next time. */
  function of(model: string): ModelFacts {
    const file = profiles[model] ?? profiles[servedAs(model)] ?? {};
    const isDue = (asked.get(model)?.askAgainAt ?? 0) <= performance.now();
    if (ask && isDue && file.context_window === undefined && !closing.signal.aborted) void askServer(model, ask);
    return combine({ name: model, servedAs: servedAs(model) }, file, asked.get(model)?.told, learned.of(model));
  }

  return {
    of,
    /** The same for a turn: reports once when the context is only assumed. */
    forTurn(model: string): ModelFacts {
      const facts = of(model);
      if (facts.sources.context_window === "assumed" && !warned.has(model)) {
        warned.add(model);
        onAssumed(model);
      }
      return facts;
    },
    close: (): void => closing.abort(),
  };
}
