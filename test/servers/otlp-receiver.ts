import { text } from "node:stream/consumers";
import { startHttpServer } from "./http-server.ts";

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: number;
  ms: number;
  failed: boolean;
  attributes: Record<string, unknown>;
}

export type OtlpReceiver = Awaited<ReturnType<typeof startOtlpReceiver>>;

interface OtlpValue {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: OtlpValue[] };
}

type OtlpSpan = Omit<ReceivedSpan, "ms" | "failed" | "attributes"> & {
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code: number };
  attributes: { key: string; value: OtlpValue }[];
};

type OtlpPayload = { resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[] };

/** https://opentelemetry.io/docs/specs/otel/trace/api/#set-status */
const STATUS_ERROR = 2;

function toValue({ stringValue, intValue, doubleValue, boolValue, arrayValue }: OtlpValue): unknown {
  if (arrayValue) return arrayValue.values.map(toValue);
  return stringValue ?? doubleValue ?? boolValue ?? (intValue === undefined ? undefined : Number(intValue));
}

function toSpan({ startTimeUnixNano, endTimeUnixNano, status, attributes, ...span }: OtlpSpan): ReceivedSpan {
  const { traceId, spanId, name, kind } = span;
  return {
    traceId,
    spanId,
    parentSpanId: span.parentSpanId === "" ? undefined : span.parentSpanId,
    name,
    kind,
    ms: Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6,
    failed: status.code === STATUS_ERROR,
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)])),
  };
}

/** A receiver of traces over OTLP/HTTP in JSON; `hangs`: it takes everything and never answers. */
export async function startOtlpReceiver({ hangs = false }: { hangs?: boolean } = {}) {
  const payloads: string[] = [];
  const requests: { path: string; contentType: string | undefined; headers: Record<string, unknown> }[] = [];
  const { origin, close } = await startHttpServer((request, response) => {
    void text(request).then((body) => {
      payloads.push(body);
      requests.push({ path: request.url ?? "", contentType: request.headers["content-type"], headers: request.headers });
      if (!hangs) response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  const spans = (): ReceivedSpan[] =>
    payloads
      .flatMap((payload) => (JSON.parse(payload) as OtlpPayload).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans.map(toSpan)));
  return { url: origin, payloads, requests, spans, close };
}
