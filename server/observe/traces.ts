import {
  type Attributes,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { type ModelPurpose, type Observer, outcomeLabel, type Work, type WorkFacts } from "../../observe/observer.ts";
import { openSpanSender, type SpanSenderOptions } from "./span-sender.ts";
import type { LastEvent } from "../../graph/start-turn.ts";
import type { EndedRequest } from "./service-metrics.ts";

export interface TracedRequest extends EndedRequest {
  requestId: string;
  turnId?: string;
}

export type Traces = ReturnType<typeof openTraces>;

const ignore = (): void => undefined;

/**
 * Sends traces of requests, nodes, model calls and jobs to an OTLP receiver: names, counts and times, never message text. It registers
 * nothing globally, so that several services can run in one process.
 */
export function openTraces({ providers, ...sending }: SpanSenderOptions & { providers: Providers }) {
  const sender = openSpanSender(sending);
  const { tracer } = sender;
  const contexts = new AsyncLocalStorageContextManager().enable();
  const within = <Result>(span: Span, run: () => Result): Result => contexts.with(trace.setSpan(contexts.active(), span), run);

  const observer: Observer = {
    async watch(work, run) {
      const described = spanOf(work, providers);
      if (!described) return run(ignore);
      const span = tracer.startSpan(described.name, described, contexts.active());
      try {
        return await within(span, () => run((facts) => addFacts(span, work, facts)));
      } catch (error) {
        markFailed(span, outcomeLabel(error));
        throw error;
      } finally {
        span.end();
      }
    },
    tell: ignore,
  };

  return {
    observer,
    close: (): Promise<void> => sender.close(),
    /** Continues the trace in the request's headers, if there is one. */
    beginRequest(traceParent: string | undefined, traceState: string | undefined) {
      const parent = parseTraceParent(traceParent, traceState);
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      const span = tracer.startSpan("request", { kind: SpanKind.SERVER }, context);
      return {
        traceId: span.spanContext().traceId,
        within: <Result>(run: () => Result): Result => within(span, run),
        end({ method, route, status, requestId, turnId }: TracedRequest): void {
          span.updateName(`${method} ${route}`).setAttributes({
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
            "conversation_graph.request_id": requestId,
            ...(turnId === undefined ? {} : { "conversation_graph.turn_id": turnId }),
          });
          if (status >= 500) markFailed(span, String(status));
          span.end();
        },
      };
    },
    turnEnded({ status, content }: LastEvent): void {
      const span = trace.getSpan(contexts.active());
      if (status === "error") {
        span?.setAttribute("conversation_graph.turn.outcome", content.code);
        if (span) markFailed(span, content.code);
        return;
      }
      if (status === "waiting") {
        span?.setAttribute("conversation_graph.turn.outcome", "waiting");
        return;
      }
      span?.setAttributes({
        "conversation_graph.turn.outcome": content.completed ? "done" : "partial",
        "conversation_graph.turn.degraded": content.degraded,
        "conversation_graph.turn.recalled_episodes": content.receipt.episodes.length,
        "conversation_graph.turn.passages": content.receipt.passages.length,
        "gen_ai.conversation.id": content.conversation_id,
      });
    },
  };
}

/** https://www.w3.org/TR/trace-context/#traceparent-header: version, trace, span, flags; later versions may add fields. */
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const SAMPLED = 1;

function parseTraceParent(traceParent: string | undefined, traceState: string | undefined): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] = TRACE_PARENT.exec(traceParent?.trim() ?? "") ?? [];
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & SAMPLED, isRemote: true };
  if (!isSpanContextValid(parent)) return undefined;
  return traceState === undefined ? parent : { ...parent, traceState: createTraceState(traceState) };
}

/** Who serves the models, as `gen_ai.provider.name`: https://opentelemetry.io/docs/specs/semconv/gen-ai/ */
export interface Providers {
  chat: string;
  embeddings: string;
}

function operationOf(purpose: ModelPurpose): "chat" | "embeddings" {
  return purpose === "embed_question" || purpose === "embed_passages" ? "embeddings" : "chat";
}

/** The span of a piece of work; null for calls of stores, of which a turn has dozens. */
function spanOf(work: Work, providers: Providers): (SpanOptions & { name: string }) | null {
  if (work.work === "node") return { name: work.name, kind: SpanKind.INTERNAL, attributes: { "conversation_graph.node": work.name } };
  if (work.work === "job") {
    // A root: several turns that ended long before may have caused it.
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

/** Marks a span by a code, not by a message, which may quote a user. */
function markFailed(span: Span, code: string): void {
  span.setAttribute("error.type", code).setStatus({ code: SpanStatusCode.ERROR });
}

function addFacts(span: Span, { work }: Work, facts: WorkFacts): void {
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
