import { z } from "zod";
import { startDeadline } from "../../turn/deadlines.ts";
import { type Amendment, AMENDMENTS } from "../wire/amendments.ts";
import { findKnownModel } from "./find-known-model.ts";
import { type LearnedContexts, makeLearnedContexts } from "./learned-contexts.ts";

/** Where a fact is from: a refusal of the model's server, the operator's MODEL_PROFILES, the server's own word, LangChain's profiles, or nowhere. */
export const FactSource = z.enum(["refusal", "file", "server", "profile", "assumed"]);
export type FactSource = z.infer<typeof FactSource>;

const tokens = z.int("must be a whole number").min(1, "must be 1 or more");
const price = z.number("must be a number").min(0, "must be 0 or more");

/** In US dollars for a million tokens. Without `cached_input` cached tokens cost what others do. */
export const ModelPrices = z.strictObject({ input: price, output: price, cached_input: price.optional() });
export type ModelPrices = z.infer<typeof ModelPrices>;

/** What an operator says of a model; what is left out comes from elsewhere. */
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

/** Null: nobody knows. `sources` names the source of each fact that is known. */
export interface ModelFacts {
  name: string;
  context_window: number;
  max_output_tokens: number | null;
  prices: ModelPrices | null;
  capabilities: readonly string[] | null;
  sources: { context_window: FactSource } & Partial<Record<"max_output_tokens" | "prices" | "capabilities", FactSource>>;
}

/** What a server tells of a model; `isFirm` is false when it may be told otherwise later. */
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

/** The operator's word goes before the server's, and that before what is published: a server may run a model with a smaller context. */
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
  // What a server has refused counts more than what anybody says.
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
  /** Null: there is no server to ask. */
  ask: AskContext | null;
  /** What servers have refused. Default: nothing, and it is kept in this process. */
  learned?: LearnedContexts;
  /** Milliseconds until a server that was away, or did not tell for good, is asked again. Default 30,000. */
  askAgainMs?: number;
  /** What a model's server calls it. Default: its name. */
  servedAs?: (name: string) => string;
  /** Hears once of each model whose context nobody knows, when it is used. */
  onAssumed?: (model: string) => void;
}

/** For a server's answer, in milliseconds. */
const ASK_MS = 5_000;
interface Asked {
  told: number | undefined;
  askAgainAt: number;
}

export type ModelFactsSource = ReturnType<typeof makeModelFacts>;

/** What is known of models. Servers are asked in the background: nobody waits for them. */
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

  /** What is known by now. A server that is due is asked for the next time. */
  function of(model: string): ModelFacts {
    const file = profiles[model] ?? profiles[servedAs(model)] ?? {};
    const isDue = (asked.get(model)?.askAgainAt ?? 0) <= performance.now();
    if (ask && isDue && file.context_window === undefined && !closing.signal.aborted) void askServer(model, ask);
    return combine({ name: model, servedAs: servedAs(model) }, file, asked.get(model)?.told, learned.of(model));
  }

  return {
    of,
    /** The same, for a turn: says once when the context is only assumed. */
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
