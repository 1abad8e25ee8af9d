import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { callApi } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithSummaries, type ServiceWithSummaries } from "../../support/services/service-with-summaries.ts";

const ACME = { authorization: "Bearer key-of-acme" };

describe("GET /metrics", () => {
  let running: ServiceWithSummaries;
  beforeAll(async () => {
    running = await openServiceWithSummaries({ API_KEYS: "key-of-acme:acme" });
  });
  afterAll(() => running.close());

  /** The samples of Prometheus' text, by name and labels. */
  async function readMetrics(): Promise<{ type: string | null; samples: Map<string, number> }> {
    const response = await fetch(`${running.url}/metrics`, { headers: ACME });
    expect(response.status).toBe(200);
    const lines = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const samples = lines.map((line): [string, number] => [
      line.slice(0, line.lastIndexOf(" ")),
      Number(line.slice(line.lastIndexOf(" "))),
    ]);
    return { type: response.headers.get("content-type"), samples: new Map(samples) };
  }

  test("counts turns by outcome, their time and that to their first token, jobs and their runs", async () => {
    await running.say("ada", "one", ACME);
    const { conversation_id: id } = await running.say("ada", "two", ACME);
    await running.settle(id, 30_000, ACME);
    const { type, samples } = await readMetrics();
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(samples.get('conversation_graph_turns_total{outcome="done"}')).toBe(2);
    expect(samples.get("conversation_graph_turn_duration_seconds_count")).toBe(2);
    expect(samples.get("conversation_graph_turn_first_token_seconds_count")).toBe(2);
    expect(samples.get('conversation_graph_job_runs_total{kind="summarise",outcome="done"}')).toBe(1);
    expect(samples.get('conversation_graph_job_run_duration_seconds_count{kind="summarise"}')).toBe(1);
    expect([...samples.keys()].filter((name) => name.startsWith('conversation_graph_jobs{kind="summarise"'))).toEqual([]);
    const firstToken = samples.get("conversation_graph_turn_first_token_seconds_sum") ?? NaN;
    const whole = samples.get("conversation_graph_turn_duration_seconds_sum") ?? NaN;
    expect(firstToken).toBeGreaterThan(0);
    expect(firstToken).toBeLessThanOrEqual(whole);
    for (const [name, value] of samples) if (name.startsWith("conversation_graph_")) expect([name, value]).not.toEqual([name, NaN]);
  });

  test("counts a failed turn by the code of its error, and the jobs that are in the queue", async () => {
    running.summarise({ tokens: ["late"], firstTokenMs: 1_500 });
    await running.say("grace", "one", ACME);
    const { conversation_id: id } = await running.say("grace", "two", ACME);
    const during = await readMetrics();
    const inQueue = [...during.samples].filter(([name]) => name.startsWith('conversation_graph_jobs{kind="summarise"'));
    expect(inQueue.map(([, count]) => count)).toEqual([1]);
    await running.settle(id, 30_000, ACME);

    running.model.answer({ status: 401 });
    const body = JSON.stringify({ user_id: "alan", session_id: "s", message: "hello" });
    await callApi(`${running.url}/api/v1/chat`, { method: "POST", headers: { "content-type": "application/json", ...ACME }, body });
    const { samples } = await readMetrics();
    expect(samples.get('conversation_graph_turns_total{outcome="model_refused"}')).toBe(1);
    expect([...samples.keys()].filter((name) => name.startsWith('conversation_graph_jobs{kind="summarise"'))).toEqual([]);
  });

  test("needs a key when keys are set, and says nothing of who said what", async () => {
    expectRefusal(await callApi(`${running.url}/metrics`), { status: 401, code: "unauthorized" });
    const text = await (await fetch(`${running.url}/metrics`, { headers: ACME })).text();
    const own = text.split("\n").filter((line) => line.startsWith("conversation_graph_"));
    expect(own.length).toBeGreaterThan(100);
    expect(own.join("\n")).not.toMatch(/\b(ada|grace|acme)\b/);
  });
});
