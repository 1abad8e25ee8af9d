import { describe, expect, test } from "@jest/globals";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { postJson } from "../../support/clients/api-client.ts";
import { openServiceWithSummaries } from "../../support/services/service-with-summaries.ts";
import { startTcpProxy } from "../../servers/tcp-proxy.ts";
import { waitUntil } from "../../support/wait-until.ts";

const READABLE = "conversation_graph_job_queue_readable";
const OLDEST = 'conversation_graph_job_oldest_waiting_seconds{kind="summarise"}';
const RETRYING = 'conversation_graph_jobs{kind="summarise",state="retrying"}';
const FAILURES = 'conversation_graph_job_failures_total{kind="summarise",code="model_unavailable"}';

describe("the metrics of faults", () => {
  const database = useTestPostgres();
  const proxy = useOpened(() => startTcpProxy(database.url));
  const running = useOpened(() => openServiceWithSummaries({ DATABASE_URL: proxy.url }));

  test("tell of jobs that fail by their code, and how long the oldest has waited", async () => {
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

  test("tell of nodes and turns that fail, by the code of their error", async () => {
    running.model.answer({ status: 401 });
    await postJson(`${running.url}/api/v1/chat`, { user_id: "alan", session_id: "s", message: "hello" });
    const { samples } = await readMetrics(running.url);
    expect(samples.get('conversation_graph_node_errors_total{node="generate",code="model_unauthorized"}')).toBe(1);
    expect(samples.get('conversation_graph_model_calls_total{purpose="chat",model="test-chat",outcome="model_unauthorized"}')).toBe(1);
    expect(samples.get('conversation_graph_turns_total{outcome="model_unauthorized"}')).toBe(1);
  });

  test.each(["refuse", "freeze"] as const)("are there while the database is away (%s), without what only it knows", async (how) => {
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
  });
});
