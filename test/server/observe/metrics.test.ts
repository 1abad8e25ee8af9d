import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { readMetrics, type ReadMetrics } from "../../support/clients/read-metrics.ts";
import { openServiceWithEpisodes, type ServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { openServiceWithSummaries } from "../../support/services/service-with-summaries.ts";
import { startTcpProxy } from "../../servers/tcp-proxy.ts";
import { waitUntil } from "../../support/wait-until.ts";

interface Dashboard {
  uid: string;
  title: string;
  panels: { id: number; type: string; title: string; targets?: { expr: string }[] }[];
}
const MINE = "conversation_graph_";
/** The metrics of a service whose turns recalled, called for jobs, and failed. */
describe("the metrics", () => {
  let running: ServiceWithEpisodes;
  let metrics: ReadMetrics;

  beforeAll(async () => {
    running = await openServiceWithEpisodes({ ENABLE_CORE_MEMORY: "true", MEMORY_MODEL: "test-memory" });
    const { conversation_id: id } = await running.say("ada", "My bicycle is red and stands in the cellar.", "first");
    await running.settle(id);
    await running.say("ada", "What colour is my bicycle?", "second");
    await callApi(`${running.url}/api/v1/conversations/${id}/messages`);
    await callApi(`${running.url}/API/V1/users/ada/core-memory`);
    await callApi(`${running.url}/nowhere/ada`);
    await postJson(`${running.url}/api/v1/chat/stream`, { user_id: "ada" });
    metrics = await readMetrics(running.url);
  });
  afterAll(() => running.close());

  /** The sum of all samples of a family whose labels have these values. */
  function sum(name: string, labels: Record<string, string> = {}): number {
    const fitting = [...metrics.samples].filter(
      ([sample]) =>
        (sample === MINE + name || sample.startsWith(`${MINE}${name}{`)) &&
        Object.entries(labels).every(([label, value]) => sample.includes(`${label}="${value}"`)),
    );
    return fitting.reduce((total, [, value]) => total + value, 0);
  }

  test("count turns and jobs by outcome, and measure their time and the time to the first token", () => {
    expect(metrics.contentType).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(sum("turns_total", { outcome: "done" })).toBe(2);
    for (const name of ["turn_duration_seconds_count", "turn_first_token_seconds_count"]) expect([name, sum(name)]).toEqual([name, 2]);
    expect(sum("turn_first_token_seconds_sum")).toBeGreaterThan(0);
    expect(sum("turn_first_token_seconds_sum")).toBeLessThanOrEqual(sum("turn_duration_seconds_sum"));
    expect(sum("job_runs_total", { kind: "remember", outcome: "done" })).toBeGreaterThan(0);
    expect(sum("job_run_duration_seconds_count", { kind: "remember" })).toBe(sum("job_runs_total", { kind: "remember" }));
    for (const [name, value] of metrics.samples) if (name.startsWith(MINE)) expect([name, value]).not.toEqual([name, NaN]);
  });

  test("measure the time of each node once for each turn", () => {
    for (const node of ["route", "history", "core_memory", "retrieve", "generate", "persist"])
      expect([node, sum("node_duration_seconds_count", { node })]).toEqual([node, 2]);
    expect(sum("node_errors_total")).toBe(0);
  });

  test("count calls of models by purpose and outcome with their time and tokens, under the configured names", () => {
    expect(sum("model_calls_total", { purpose: "chat", model: "test-chat", outcome: "ok" })).toBe(2);
    expect(sum("model_call_duration_seconds_count", { purpose: "chat", model: "test-chat" })).toBe(2);
    expect(sum("model_first_token_seconds_count", { purpose: "chat" })).toBe(2);
    expect(sum("model_calls_total", { purpose: "memory", model: "test-memory", outcome: "ok" })).toBeGreaterThan(0);
    expect(sum("model_calls_total", { purpose: "embed_question", model: "built-in", outcome: "ok" })).toBe(1);
    expect(sum("model_calls_total", { purpose: "embed_passages", model: "built-in", outcome: "ok" })).toBeGreaterThan(0);
    for (const direction of ["prompt", "completion"])
      expect([direction, sum("tokens_total", { purpose: "chat", direction }) > 0]).toEqual([direction, true]);
  });

  test("measure statements by name without their variants and the index by operation, and count no errors", () => {
    expect(sum("postgres_statement_duration_seconds_count", { statement: "turn-begin" })).toBe(2);
    expect(sum("postgres_statement_duration_seconds_count", { statement: "transaction" })).toBeGreaterThan(0);
    expect(sum("postgres_statement_duration_seconds_count", { statement: "job-claim" })).toBeGreaterThan(0);
    expect(metrics.text).not.toMatch(/statement="[^"]*\d"/);
    for (const operation of ["upsert", "search_words", "search_vectors"])
      expect([operation, sum("search_duration_seconds_count", { store: "postgres", operation }) > 0]).toEqual([operation, true]);
    expect(sum("postgres_errors_total") + sum("search_errors_total")).toBe(0);
  });

  test("measure recall, and show the state of every circuit", () => {
    expect(sum("turn_recalled_episodes_sum")).toBe(1);
    expect(sum("turn_recalled_episodes_count")).toBe(2);
    expect(sum("turn_prompt_fill_ratio_count")).toBe(2);
    expect(sum("turn_prompt_fill_ratio_sum")).toBeGreaterThan(0);
    for (const circuit of [
      "episode_words",
      "episode_vectors",
      "episode_embedder",
      "passage_words",
      "passage_vectors",
      "passage_embedder",
      "router_embedder",
      "router_model",
      "question_model",
    ]) {
      expect([circuit, sum("circuit_state", { circuit, state: "closed" })]).toEqual([circuit, 1]);
      expect([circuit, sum("circuit_state", { circuit, state: "open" })]).toEqual([circuit, 0]);
    }
  });

  test("count requests by their route's template, however the address was spelt and whatever the answer", () => {
    const requests = (method: string, route: string, status: string): number => sum("http_requests_total", { method, route, status });
    expect(requests("POST", "/api/v1/chat", "200")).toBe(2);
    expect(requests("GET", "/api/v1/conversations/:id/messages", "200")).toBe(1);
    expect(requests("GET", "/api/v1/users/:id/core-memory", "200")).toBe(1);
    expect(requests("POST", "/api/v1/chat/stream", "400")).toBe(1);
    expect(requests("GET", "unmatched", "404")).toBe(1);
    expect(sum("http_requests_open")).toBe(1); // the one that asks
  });

  test("show the event loop, memory and CPU of the process", () => {
    for (const name of ["nodejs_eventloop_lag_p99_seconds", "process_resident_memory_bytes", "process_cpu_seconds_total"])
      expect(metrics.families).toContain(name);
  });

  test("show nothing that identifies a user, and have at most a thousand samples of each family", () => {
    expect(metrics.text).not.toMatch(/\bada\b|bicycle|[0-9a-f]{8}-[0-9a-f]{4}-/);
    const perFamily = Map.groupBy(metrics.samples.keys(), (sample) => sample.split("{")[0]);
    for (const [family, samples] of perFamily) expect([family, samples.length < 1_000]).toEqual([family, true]);
  });

  test("are all in the dashboard, which names no other metric", () => {
    const dashboard = JSON.parse(readFileSync("monitoring/grafana-dashboard.json", "utf8")) as Dashboard;
    expect(dashboard).toMatchObject({ uid: "conversation-graph", title: "conversation-graph" });
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const named = new Set(expressions.flatMap((expr) => expr.match(/\b(conversation_graph|nodejs|process)_\w+/g) ?? []));
    const families = [...named].map((name) => (metrics.families.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "")));
    expect(families.filter((name) => !metrics.families.has(name))).toEqual([]);
    expect([...metrics.families].filter((name) => name.startsWith(MINE) && !families.includes(name))).toEqual([]);
  });
});

const READABLE = "conversation_graph_job_queue_readable";
const OLDEST = 'conversation_graph_job_oldest_waiting_seconds{kind="summarise"}';
const RETRYING = 'conversation_graph_jobs{kind="summarise",state="retrying"}';
const FAILURES = 'conversation_graph_job_failures_total{kind="summarise",code="model_unavailable"}';
describe("the metrics of faults", () => {
  const database = useTestPostgres();
  const proxy = useOpened(() => startTcpProxy(database.url));
  const running = useOpened(() => openServiceWithSummaries({ DATABASE_URL: proxy.url }));

  test("count failed jobs by their code, and show how long the oldest job has waited", async () => {
    running.summarise({ status: 503 });
    await running.say("ada", "one");
    const { conversation_id: id } = await running.say("ada", "two");
    const failing = await waitUntil("a job that waits to be tried again", async () => {
      const { samples } = await readMetrics(running.url);
      return samples.get(FAILURES) && samples.get(OLDEST) && samples.get(RETRYING) ? samples : undefined;
    });
    expect(failing.get(READABLE)).toBe(1);
    expect(failing.get(RETRYING)).toBe(1);
    expect(
      failing.get('conversation_graph_model_calls_total{purpose="summary",model="test-summary",outcome="model_unavailable"}'),
    ).toBeGreaterThan(0);

    running.summarise({ tokens: ["They spoke."] });
    await running.settle(id);
    const { samples } = await readMetrics(running.url);
    expect([...samples.keys()].filter((name) => name === OLDEST || name.startsWith('conversation_graph_jobs{kind="summarise"'))).toEqual(
      [],
    );
    expect(samples.get('conversation_graph_job_runs_total{kind="summarise",outcome="done"}')).toBe(1);
  });

  test("count failed nodes and turns by the code of their error", async () => {
    running.model.answer({ status: 401 });
    await postJson(`${running.url}/api/v1/chat`, { user_id: "alan", session_id: "s", message: "hello" });
    const { samples } = await readMetrics(running.url);
    expect(samples.get('conversation_graph_node_errors_total{node="generate",code="model_unauthorized"}')).toBe(1);
    expect(samples.get('conversation_graph_model_calls_total{purpose="chat",model="test-chat",outcome="model_unauthorized"}')).toBe(1);
    expect(samples.get('conversation_graph_turns_total{outcome="model_unauthorized"}')).toBe(1);
  });

  test.each(["refuse", "freeze"] as const)(
    "are shown while the database is away (%s), without what only the database knows",
    async (how) => {
      await proxy[how]();
      const away = await waitUntil("the queue is unreadable", async () => {
        const { samples } = await readMetrics(running.url);
        return samples.get(READABLE) === 0 ? samples : undefined;
      });
      expect([...away.keys()].filter((name) => name.startsWith("conversation_graph_jobs{"))).toEqual([]);
      expect(away.get("conversation_graph_turn_duration_seconds_count")).toBeGreaterThan(0);
      if (how === "refuse") {
        const errors = [...away].filter(([name]) => /^conversation_graph_postgres_errors_total\{.*code="storage_unavailable"/.test(name));
        expect(errors).not.toEqual([]);
      }
      await proxy.restore();
      await waitUntil("the queue is readable", async () => (await readMetrics(running.url)).samples.get(READABLE) === 1);
    },
  );
});
