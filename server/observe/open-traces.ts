import { ROOT_CONTEXT, SpanKind, trace, type Span } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import type { Observer } from "../../observe/observer.ts";
import { outcomeOf } from "../../observe/outcome-of.ts";
import { openSpanSender, type SpanSenderOptions } from "./open-span-sender.ts";
import { addFacts, markFailed, spanOf, type Providers } from "./span-of.ts";
import { parseTraceParent } from "./trace-parent.ts";
import type { Traces } from "./traces.ts";

export interface TracesOptions extends SpanSenderOptions {
  providers: Providers;
}

const ignore = (): void => undefined;

/**
 * Traces that are sent to an OTLP receiver. The parent of a span is the one that is active where it begins: nodes run side by side, each in
 * an asynchronous context of its own. Nothing is registered globally, so that several services can be in one process.
 */
export function openTraces({ providers, ...sending }: TracesOptions): Traces {
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
        markFailed(span, outcomeOf(error));
        throw error;
      } finally {
        span.end();
      }
    },
    tell: ignore,
  };

  return {
    observer,
    close: () => sender.close(),
    beginRequest(traceParent, traceState) {
      const parent = parseTraceParent(traceParent, traceState);
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      const span = tracer.startSpan("request", { kind: SpanKind.SERVER }, context);
      return {
        traceId: span.spanContext().traceId,
        within: (run) => within(span, run),
        end({ method, route, status, requestId, turnId }) {
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
    turnEnded({ status, content }) {
      const span = trace.getSpan(contexts.active());
      if (status === "error") {
        span?.setAttribute("conversation_graph.turn.outcome", content.code);
        if (span) markFailed(span, content.code);
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
