import { z } from "zod";
import { AppError, toAppError } from "../../errors/app-error.ts";
import type { ErrorCode } from "../../errors/error-codes.ts";
import type { Embedder } from "../../models/embedder.ts";
import { type ModelSettings, settingsOf } from "../../models/model-error.ts";
import { OfflineChatModel } from "../../models/offline/offline-chat-model.ts";
import type { Dialects, ServedModel } from "../../models/wire/dialects.ts";
import { LearnedLesson, lessonsOf, servedBy } from "./learned-lessons.ts";
import { ATTEMPTS, type Outcome, textError, type TriedModel, tryEmbedding, tryText } from "./model-attempts.ts";

const ModelResult = z.object({
  what: z
    .enum(["text", "thought", "call", "form", "picture", "embedding"])
    .describe("A short answer, a thought before it, a call of a tool, JSON that fits a schema, a look at a picture, vectors of two texts."),
  ok: z.boolean().nullable().describe("Null: it was not tried, or nothing can be said."),
  ms: z.number().nullable().describe("Until it was done, of a thought until it began. Null: it was not tried, or none came."),
  note: z.string().nullable(),
});
type ModelResult = z.infer<typeof ModelResult>;

export const TestedModel = z.object({
  model: z.string(),
  ok: z.boolean().describe("It answers a short text."),
  ms: z.number().describe("Until its first word, or until it failed."),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  check: z.array(z.string()).describe("Where to look: the settings that it may be about, by name."),
  results: z.array(ModelResult).describe("What the model can, in the order in which it was tried."),
  learned: z
    .array(LearnedLesson)
    .describe("What its server taught meanwhile, then what that of embeddings did. What was known before is forgotten."),
});
export type TestedModel = z.infer<typeof TestedModel>;

/** The settings that a failure may be about. */
const CHECK: Partial<Record<ErrorCode, readonly (keyof ModelSettings)[]>> = {
  model_unavailable: ["url"],
  model_bad_response: ["url"],
  model_incomplete: ["url", "model"],
  model_first_token_timeout: ["url", "model"],
  model_not_found: ["model"],
  model_unauthorized: ["key"],
  model_quota: ["key"],
  model_refused: ["key", "url", "model"],
};

/** The longest time of all attempts together: a proxy waits no longer than a few minutes. */
const MOST_MS = 120_000;

export interface TestModelParts extends TriedModel {
  name: string;
  dialects: Dialects;
  /** Why embeddings are not tried, or their model. */
  embedding: string | { embedder: Embedder; served: ServedModel };
  /** Default: two minutes. */
  mostMs?: number;
}

async function timed(what: ModelResult["what"], attempt: () => Promise<Outcome>): Promise<ModelResult> {
  const began = performance.now();
  const { ok, note } = await attempt().catch((error: unknown) => ({ ok: false, note: toAppError(error).message }));
  return { what, ok, ms: Math.round(performance.now() - began), note };
}

const untried = (what: ModelResult["what"], note: string): ModelResult => ({ what, ok: null, ms: null, note });

/** Aborts when the client leaves, and when everything has taken too long. */
function startClock(mostMs: number, left: AbortSignal) {
  const over = new AbortController();
  const tooLong = new AppError("model_stalled", `All attempts together took longer than ${mostMs / 1_000} s.`);
  const timer = setTimeout(() => over.abort(tooLong), mostMs);
  return { signal: AbortSignal.any([left, over.signal]), [Symbol.dispose]: () => clearTimeout(timer) };
}

async function tryModel(tried: TriedModel, dialects: Dialects) {
  const served = servedBy(tried.model);
  const learnt = (): ReadonlySet<string> => new Set(served ? dialects.of(served).map(({ what }) => what) : []);
  const began = performance.now();
  const text = await tryText(tried);
  const took = performance.now() - began;
  const { thoughtMs, firstMs, thinks } = text;
  const error = textError(text);
  const results: ModelResult[] = [
    { what: "text", ok: error === null, ms: Math.round(took), note: (error ?? text.answer.error)?.message ?? null },
    thoughtMs === null
      ? untried("thought", error ? "It does not answer." : "This model sent none.")
      : { what: "thought", ok: true, ms: Math.round(thoughtMs), note: null },
  ];
  for (const [what, attempt] of Object.entries(ATTEMPTS) as [keyof typeof ATTEMPTS, (typeof ATTEMPTS)[keyof typeof ATTEMPTS]][]) {
    if (tried.model instanceof OfflineChatModel) results.push(untried(what, "The built-in model is not tried."));
    else if (error) results.push(untried(what, "It does not answer."));
    else if (tried.signal.aborted) results.push(untried(what, "There was no time left."));
    else results.push(await timed(what, () => attempt(tried, { thinks, learnt })));
  }
  return { results, error, ms: Math.round(firstMs ?? took) };
}

/** Tries a model's abilities one by one, after forgetting all lessons about it and its server. */
export async function testModel({ name, dialects, embedding, mostMs = MOST_MS, ...model }: TestModelParts): Promise<TestedModel> {
  const served = [servedBy(model.model), typeof embedding === "string" ? null : embedding.served].filter((one) => one !== null);
  for (const one of served) dialects.forget(one);
  using clock = startClock(mostMs, model.signal);
  const { signal } = clock;
  const [{ results, error, ms }, ofEmbedding] = await Promise.all([
    tryModel({ ...model, signal }, dialects),
    typeof embedding === "string" ? untried("embedding", embedding) : timed("embedding", () => tryEmbedding(embedding.embedder, signal)),
  ]);
  const settings = settingsOf(model.purpose, model.model);
  return {
    ...{ model: name, ok: error === null, ms },
    error: error && { code: error.code, message: error.message },
    check: ((error && CHECK[error.code]) ?? []).map((place) => settings[place]),
    results: [...results, ofEmbedding],
    learned: lessonsOf(dialects, served),
  };
}
