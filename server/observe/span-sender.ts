import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from "@opentelemetry/sdk-trace";

/** For one batch with its retries. */
const SEND_TIMEOUT_MS = 3_000;
const BATCH_EVERY_MS = 2_000;
/** For sending the rest at the stop. */
const STOP_TIMEOUT_MS = 2_000;
/** The most waiting spans; more are dropped. */
const MAX_WAITING = 2_048;
const MAX_SENDING = 4;

export interface SpanSenderOptions {
  /** The base address of the receiver: spans go to /v1/traces below it. */
  endpoint: string;
  headers: Record<string, string>;
  serviceName: string;
  /** Called when sending begins to fail, and when it works again. */
  onChange: (works: boolean, error: Error | undefined) => void;
}

function reportingExporter(exporter: SpanExporter, onChange: SpanSenderOptions["onChange"]): SpanExporter {
  let works = true;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const worked = Number(result.code) === 0;
        if (worked !== works) onChange(worked, result.error);
        works = worked;
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}

/** Sends spans over OTLP/HTTP in the background. An unreachable or hanging receiver costs spans, nothing else. */
export function openSpanSender({ endpoint, headers, serviceName, onChange }: SpanSenderOptions) {
  const agents: (HttpAgent | HttpsAgent)[] = [];
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/(?<!\/)\/+$/, "")}/v1/traces`,
    headers,
    timeoutMillis: SEND_TIMEOUT_MS,
    concurrencyLimit: MAX_SENDING,
    httpAgentOptions(protocol) {
      const agent = protocol === "https:" ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
      agents.push(agent);
      return agent;
    },
  });
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(detectResources({ detectors: [envDetector] }))
      .merge(resourceFromAttributes({ "service.name": serviceName })),
    spanLimits: { attributeValueLengthLimit: 1_000 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reportingExporter(exporter, onChange),
        scheduledDelayMillis: BATCH_EVERY_MS,
        exportTimeoutMillis: SEND_TIMEOUT_MS + 1_000,
        maxQueueSize: MAX_WAITING,
      }),
    ],
  });
  return {
    tracer: provider.getTracer("conversation-graph"),
    /** Sends what is left, for STOP_TIMEOUT_MS at most. */
    async close(): Promise<void> {
      const sent = new AbortController();
      const shutDown = provider.shutdown().catch(() => undefined); // reported by onChange
      const deadline = sleep(STOP_TIMEOUT_MS, undefined, { signal: sent.signal }).catch(() => undefined);
      await Promise.race([shutDown, deadline]);
      sent.abort();
      for (const agent of agents) agent.destroy(); // a hanging receiver must not keep the process alive
    },
  };
}
