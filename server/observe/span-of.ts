import { SpanKind, SpanStatusCode, type Attributes, type Span, type SpanOptions } from "@opentelemetry/api";
import type { ModelPurpose, Work, WorkFacts } from "../../observe/observer.ts";

/** Who serves the models, as `gen_ai.provider.name`: https://opentelemetry.io/docs/specs/semconv/gen-ai/ */
export interface Providers {
  chat: string;
  embeddings: string;
}

function operationOf(purpose: ModelPurpose): "chat" | "embeddings" {
  return purpose === "embed_question" || purpose === "embed_passages" ? "embeddings" : "chat";
}

/** The span of a piece of work; null for calls of stores, of which a turn has dozens: their times are in the metrics. */
export function spanOf(work: Work, providers: Providers): (SpanOptions & { name: string }) | null {
  if (work.work === "node") return { name: work.name, kind: SpanKind.INTERNAL, attributes: { "conversation_graph.node": work.name } };
  if (work.work === "job") {
    // A root: the turn that gave rise to it may be long over, or one of many.
    return { name: `job ${work.kind}`, kind: SpanKind.CONSUMER, root: true, attributes: { "conversation_graph.job.kind": work.kind } };
  }
  if (work.work !== "model_call") return null;
  const operation = operationOf(work.purpose);
  const attributes = {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": providers[operation],
    "gen_ai.request.model": work.model,
    "conversation_graph.model.purpose": work.purpose,
  };
  return { name: `${operation} ${work.model}`, kind: SpanKind.CLIENT, attributes };
}

/** Marks a span as failed by a code. Messages of errors can quote what a user said: they are in no span. */
export function markFailed(span: Span, code: string): void {
  span.setAttribute("error.type", code).setStatus({ code: SpanStatusCode.ERROR });
}

/** Adds to the span of a piece of work what was learnt of it. */
export function addFacts(span: Span, { work }: Work, facts: WorkFacts): void {
  const attributes: Attributes = {
    "gen_ai.usage.input_tokens": facts.inputTokens,
    "gen_ai.usage.output_tokens": facts.outputTokens,
    "conversation_graph.usage.estimated": facts.tokensAreEstimated,
    "conversation_graph.first_token_ms": facts.firstTokenMs,
  };
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) span.setAttribute(name, value);
  if (facts.outcome === undefined) return;
  if (work === "job") span.setAttribute("conversation_graph.job.outcome", facts.outcome);
  if (work !== "job" || facts.outcome === "failed") markFailed(span, facts.outcome);
}
