import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A span as OTLP's JSON has it, its attributes as an object. */
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

export interface OtlpReceiver {
  /** The value for OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  /** All that was sent, as it came. */
  payloads: string[];
  requests: { path: string; contentType: string | undefined; headers: Record<string, unknown> }[];
  spans(): ReceivedSpan[];
  close(): Promise<void>;
}

interface OtlpValue {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: OtlpValue[] };
}

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code: number };
  attributes: { key: string; value: OtlpValue }[];
}

interface OtlpPayload {
  resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[];
}

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
export async function startOtlpReceiver({ hangs = false }: { hangs?: boolean } = {}): Promise<OtlpReceiver> {
  const payloads: string[] = [];
  const requests: OtlpReceiver["requests"] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      payloads.push(body);
      requests.push({ path: request.url ?? "", contentType: request.headers["content-type"], headers: request.headers });
      if (!hangs) response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    payloads,
    requests,
    spans: () =>
      payloads
        .flatMap((payload) => (JSON.parse(payload) as OtlpPayload).resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(toSpan))),
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
