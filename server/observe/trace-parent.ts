import { createTraceState, isSpanContextValid, type SpanContext } from "@opentelemetry/api";

/** https://www.w3.org/TR/trace-context/#traceparent-header: version, trace, span, flags; later versions may add fields. */
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const SAMPLED = 1;

/** The span in another process that a request comes from; undefined when its headers name none. */
export function parseTraceParent(traceParent: string | undefined, traceState: string | undefined): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] = TRACE_PARENT.exec(traceParent?.trim() ?? "") ?? [];
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & SAMPLED, isRemote: true };
  if (!isSpanContextValid(parent)) return undefined;
  return traceState === undefined ? parent : { ...parent, traceState: createTraceState(traceState) };
}
