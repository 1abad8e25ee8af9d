import { beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { makeKnowledgeClient } from "../../support/clients/knowledge-client.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { openTestService } from "../../support/services/service.ts";
import { useOpened } from "../../support/use-opened.ts";

const LISTED = 'conversation_graph_postgres_statement_duration_seconds_count{statement="knowledge-list"}';
const MODEL = "conversation-graph";
const HINT = { "x-task": "title_generation" };

describe("all knowledge bases are listed", () => {
  const service = useOpened(() => openTestService());
  beforeAll(async () => {
    await makeKnowledgeClient(service.url).put("travel", { description: "trains and planes" });
  });

  const listings = async (): Promise<number> => (await readMetrics(service.url)).samples.get(LISTED) ?? 0;
  const complete = (model: string, headers: Record<string, string> = {}) =>
    postJson(`${service.url}/v1/chat/completions`, { model, user: "ada", messages: [{ role: "user", content: "a plane" }] }, headers);
  const chat = (kb_prefix: string | null) =>
    postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: crypto.randomUUID(), message: "a plane", kb_prefix });

  test.each([
    ["once for a completion: by its routing", () => complete(MODEL), 200, 1],
    ["once for a completion of one of them", () => complete(`${MODEL}/travel`), 200, 1],
    ["once for a turn", () => chat(null), 200, 1],
    ["once for a turn that asks for one of them", () => chat("travel"), 200, 1],
    ["once for a turn that asks for none", () => chat("general"), 200, 1],
    ["not for a front end's own task", () => complete(MODEL, HINT), 200, 0],
    ["not for such a task of one of them", () => complete(`${MODEL}/travel`, HINT), 200, 0],
    ["not for one model", () => callApi(`${service.url}/v1/models/${MODEL}/travel`), 200, 0],
    ["once for a model that is not there, to name those that are", () => complete(`${MODEL}/nothing`), 404, 1],
    ["once for a model whose name no database takes", () => complete(`${MODEL}/\0`), 404, 1],
    ["once for a base that is not there, to name those that are", () => chat("nothing"), 400, 1],
  ])("%s", async (_, ask, status, times) => {
    const before = await listings();
    const answer = await ask();
    expect(answer).toMatchObject({ status });
    if (status !== 200) expect(answer.text).toContain("travel");
    expect((await listings()) - before).toBe(times);
  });
});
