import { Registry } from "prom-client";
import type { LastEvent } from "../graph/start-turn.ts";
import type { JobRun } from "../memory/jobs/run-jobs.ts";
import type { Observer } from "../observe/observer.ts";
import { admissionMetrics, type AdmissionMetrics } from "./observe/admission-metrics.ts";
import { jobMetrics, type QueueState } from "./observe/job-metrics.ts";
import { processMetrics } from "./observe/process-metrics.ts";
import { requestMetrics, type RequestMetrics } from "./observe/request-metrics.ts";
import { turnMetrics } from "./observe/turn-metrics.ts";
import { workMetrics } from "./observe/work-metrics.ts";

/** What the service counts, in Prometheus' text format. Labels have few values: never a user, a session, a path or a message. */
export interface Metrics extends AdmissionMetrics {
  contentType: string;
  /** `queue`: what the database says of it, null when it does not answer; the rest is counted as it happens. */
  render(queue: QueueState | null): Promise<string>;
  /** Nodes, calls of models, statements, searches, circuits, memory operations. */
  observer: Observer;
  requests: RequestMetrics;
  turnEnded(last: LastEvent): void;
  jobRan(run: JobRun): void;
}

/** A registry of its own for each service, so that several can be in one process. */
export function makeMetrics(): Metrics {
  const registry = new Registry();
  const jobs = jobMetrics(registry);
  return {
    contentType: registry.contentType,
    async render(queue) {
      jobs.queue(queue);
      const texts = await Promise.all([registry.metrics(), processMetrics().metrics()]);
      return texts.join("\n");
    },
    observer: workMetrics(registry),
    requests: requestMetrics(registry),
    turnEnded: turnMetrics(registry),
    jobRan: jobs.ran,
    ...admissionMetrics(registry),
  };
}
