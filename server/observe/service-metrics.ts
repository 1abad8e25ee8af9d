import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { LastEvent } from "../../graph/start-turn.ts";
import type { Overload } from "../limits/admission.ts";

/** Upper bounds in seconds, up to a slow model's long answer. */
const TURN_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Makes the metrics of a registry, with names that begin with `conversation_graph_`. */
export function metricsIn(registry: Registry) {
  const described = <Label extends string>(name: string, help: string, labelNames: Label[]) => {
    return { name: `conversation_graph_${name}`, help, labelNames, registers: [registry] };
  };
  return {
    counter: <Label extends string = never>(name: string, help: string, labels: Label[] = []) => new Counter(described(name, help, labels)),
    gauge: <Label extends string = never>(name: string, help: string, labels: Label[] = []) => new Gauge(described(name, help, labels)),
    histogram: <Label extends string = never>(name: string, help: string, labels: Label[] = [], buckets = TURN_BUCKETS) =>
      new Histogram({ ...described(name, help, labels), buckets }),
  };
}

export interface EndedRequest {
  method: string;
  /** The route's template; `unmatched` without one. */
  route: string;
  /** 499: the client left before the end of the answer. */
  status: number;
  ms: number;
}

export function requestMetrics(registry: Registry) {
  const { counter, gauge, histogram } = metricsIn(registry);
  const open = gauge("http_requests_open", "Requests that are being answered, event streams among them.");
  const requests = counter(
    "http_requests_total",
    "Requests by method, route template and status; 499: the client left before the end of the answer.",
    ["method", "route", "status"],
  );
  const seconds = histogram(
    "http_request_duration_seconds",
    "Time from a request's headers to the end of its answer, by method and route template.",
    ["method", "route"],
  );
  return {
    began: () => open.inc(),
    ended({ method, route, status, ms }: EndedRequest) {
      open.dec();
      requests.inc({ method, route, status });
      seconds.observe({ method, route }, ms / 1_000);
    },
  };
}

export function turnMetrics(registry: Registry): (last: LastEvent) => void {
  const { counter, histogram } = metricsIn(registry);
  const turns = counter("turns_total", "Turns that ended, by outcome: done, partial, or the code of the error.", ["outcome"]);
  const questions = counter("questions_total", "Questions for which turns wait, by type.", ["type"]);
  const turnSeconds = histogram("turn_duration_seconds", "Time of a turn that ended with done.");
  const firstTokenSeconds = histogram("turn_first_token_seconds", "Time to the first token of a turn that ended with done.");
  const cut = counter("turns_cut_total", "Turns that ended with done whose answer MAX_ANSWER_TOKENS or the model's context cut.");
  const degraded = counter("turns_degraded_total", "Turns that ended with done without a memory layer that was switched on, by layer.", [
    "layer",
  ]);
  const fill = histogram(
    "turn_prompt_fill_ratio",
    "Share of what fits into the model's context that the prompt of a turn took that ended with done.",
    [],
    [0.1, 0.25, 0.5, 0.65, 0.8, 0.92, 1],
  );
  const counts = [0, 1, 2, 3, 5, 10, 20, 50];
  const episodes = histogram("turn_recalled_episodes", "Earlier exchanges in the prompt of a turn that ended with done.", [], counts);
  const pieces = [0, 1, 2, 4, 8, 16];
  const passages = histogram("turn_passages", "Passages of documents in the prompt of a turn that ended with done.", [], pieces);

  return function turnEnded({ status, content }) {
    if (status === "error") {
      turns.inc({ outcome: content.code });
      return;
    }
    if (status === "waiting") {
      questions.inc({ type: content.question.type });
      return;
    }
    const { timings, receipt, usage } = content;
    turns.inc({ outcome: content.completed ? "done" : "partial" });
    turnSeconds.observe(timings.total_ms / 1_000);
    if (timings.first_token_ms !== null) firstTokenSeconds.observe(timings.first_token_ms / 1_000);
    if (content.cut) cut.inc();
    for (const layer of content.degraded) degraded.inc({ layer });
    if (usage.usage_ratio !== null) fill.observe(usage.usage_ratio);
    episodes.observe(receipt.episodes.length);
    passages.observe(receipt.passages.length);
  };
}

/** Counts refused turns, and shows the event loop's lag, which refuses them. */
export function admissionMetrics(registry: Registry) {
  const { counter } = metricsIn(registry);
  const refused = counter(
    "turns_refused_total",
    "Turns refused because this process had too much to do. Reason: full, MAX_TURNS_PER_PROCESS were inside; late, its event loop did not keep up.",
    ["reason"],
  );
  for (const reason of ["full", "late"] satisfies Overload[]) refused.inc({ reason }, 0);
  let read = (): number => 0;
  const lag: Gauge = new Gauge({
    name: "conversation_graph_event_loop_lag_seconds",
    help: "How late the event loop has been throughout the last second: its least lag. Turns are refused while it is over 1.",
    registers: [registry],
    collect: () => lag.set(read() / 1_000),
  });
  return {
    turnRefused: (reason: Overload) => refused.inc({ reason }),
    /** `lagMs`: read at each scrape. */
    watchLag: (lagMs: () => number) => void (read = lagMs),
  };
}

/** Counts a rating that is new or has changed. */
export function ratingMetrics(registry: Registry): (value: 1 | -1) => void {
  const { counter } = metricsIn(registry);
  const ratings = counter("answer_ratings_total", "Ratings of answers that users gave or changed: 1 is good, -1 is bad.", ["value"]);
  for (const value of [1, -1]) ratings.inc({ value }, 0);
  return (value) => ratings.inc({ value });
}
