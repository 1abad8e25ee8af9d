import { expect, test } from "@jest/globals";
import { bearer, JWT_SECRET, secretToken } from "../../servers/token-issuer.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { conversationApi } from "../../support/services/service-with-episodes.ts";
import { postJson } from "../../support/clients/api-client.ts";

test("the status shows dependencies, layers, the last turns and the jobs, which a user's token does not see", async () => {
  const running = await openServiceWithModel({ API_KEYS: "key-of-default:default", JWT_SECRET });
  const status = async (token = "key-of-default") => (await running.service.get("/api/v1/status", bearer(token))).json;
  expect((await status())["turns"]).toEqual([]);
  await postJson(`${running.url}/api/v1/chat`, { user_id: "fay", session_id: "s", message: "hello" }, bearer("key-of-default"));
  expect(await status()).toMatchObject({
    dependencies: { postgres: "up", chat_model: "up" },
    layers: { summary: "on", core_memory: "off", episodic: "off", knowledge: "off" },
    core_memory_sections: ["profile", "preferences", "goals", "relationships", "constraints", "instructions"],
    models: { chat: expect.stringContaining(running.model.url), embedder: null },
    pictures: { max_count: 10, max_bytes: 10 * 1024 ** 2, max_total_bytes: 20 * 1024 ** 2 },
    search_level: null,
    unfit_models: [],
    jobs: expect.any(Array),
  });
  const [time, ms] = [expect.stringMatching(/Z$/), expect.any(Number)];
  expect((await status())["turns"]).toEqual([{ at: time, total_ms: ms, first_token_ms: ms, degraded: [], code: null }]);
  expect((await status(secretToken({ sub: "fay" })))["jobs"]).toBeNull();
  await running.close();
});

test("the status and the metrics say that a model does not do for memory", async () => {
  const running = await openServiceWithModel({ SUMMARY_MODEL: "test-summary", HISTORY_WINDOW: "2", SUMMARY_MIN_MESSAGES: "4" });
  running.model.answer(({ model }) => ({
    tokens: [model === "test-summary" ? "Sterbe, hmm, sós. A German Shepherd for a cat." : "noted"],
  }));
  const { say, settle } = conversationApi(running.url);
  await say("ada", "My flight to Porto leaves at 18:40", "s");
  const { conversation_id } = await say("ada", "I am allergic to peanuts", "s");
  await settle(conversation_id);
  expect((await running.service.get("/api/v1/status")).json["unfit_models"]).toEqual([
    { purpose: "summary", problem: "shares_nothing", times: 1, last_at: expect.stringMatching(/Z$/) },
  ]);
  const { samples } = await readMetrics(running.url);
  expect(samples.get('conversation_graph_memory_model_unfit_total{purpose="summary",problem="shares_nothing"}')).toBe(1);
  await running.close();
});

test.each([
  ["I am a helpful assistant. ".repeat(4), "repeats_itself"],
  ["I am a helpful assistant.", "shares_nothing"],
  ["you live in Berlin", "unsaid_names"],
])("the status names the summary when its model writes %j, and the built-in summary stands in", async (babble, problem) => {
  const running = await openServiceWithModel({ SUMMARY_MODEL: "test-summary", HISTORY_WINDOW: "2", SUMMARY_MIN_MESSAGES: "6" });
  running.model.answer(({ model }) => ({ tokens: [model === "test-summary" ? babble : "I am a helpful assistant."] }));
  const { say, settle } = conversationApi(running.url);
  for (const message of ["My name is Ada and I live in Lisbon.", "My dog is called Rex.", "Where do I live?"]) await say("ada", message);
  const { conversation_id } = await say("ada", "What is my dog called?");
  await settle(conversation_id);
  const text = JSON.stringify((await running.service.get(`/api/v1/conversations/${conversation_id}/summary`)).json);
  expect(text).toMatch(/Ada[^]*Lisbon[^]*Rex/);
  expect(text).not.toMatch(/helpful|Berlin/);
  expect((await running.service.get("/api/v1/status")).json["unfit_models"]).toEqual([
    { purpose: "summary", problem, times: expect.any(Number), last_at: expect.stringMatching(/Z$/) },
  ]);
  await running.close();
});
