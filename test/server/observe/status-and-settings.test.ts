import { expect, test, afterAll, beforeAll, describe } from "@jest/globals";
import { bearer, JWT_SECRET, secretToken } from "../../servers/token-issuer.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { conversationApi } from "../../support/services/service-with-episodes.ts";
import { postJson, callApi, type ErrorBody } from "../../support/clients/api-client.ts";
import { readFileSync } from "node:fs";
import { CONFIG_VARIABLES } from "../../../server/settings/config.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService } from "../../support/services/service.ts";

test("the status shows dependencies, layers, the last turns and the jobs, but no jobs to a user's token", async () => {
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
test("the status and the metrics report a model that is unfit for memory", async () => {
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
])("the status reports the summary's model when it writes %j, and the built-in summary takes its place", async (babble, problem) => {
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

interface Setting {
  name: string;
  group: string;
  value: string | null;
  secret: boolean;
  set: boolean;
  meaning: string;
}
interface Limit {
  setting: string;
  of: string;
  limit: number | null;
  used: number | null;
}
interface Tested {
  model: string;
  ok: boolean;
  ms: number;
  error: { code: string; message: string } | null;
  check: string[];
}
const [ADMIN, ORDINARY] = [bearer("key-of-the-operator"), bearer("key-of-the-tenant")];
describe("for an operator,", () => {
  let running: Awaited<ReturnType<typeof openServiceWithModel>>;
  beforeAll(async () => {
    running = await openServiceWithModel({
      API_KEYS: "key-of-the-operator:default:admin,key-of-the-tenant:default",
      JWT_SECRET,
      OPENAI_API_KEY: "sk-a-secret",
      RERANK_BASE_URL: "https://somebody:hunter2@rank.example.org/v1?token=hush",
      TOKENS_PER_DAY: "5000",
      RATE_LIMIT_PER_MINUTE: "50",
      MAX_CONCURRENT_TURNS_PER_USER: "0",
    });
  });
  afterAll(() => running.close());
  const get = <Body>(path: string, headers = ADMIN) => callApi<Body & ErrorBody>(`${running.url}/api/v1${path}`, { headers });
  const say = (user: string) => postJson(`${running.url}/api/v1/chat`, { user_id: user, session_id: "s", message: "hello" }, ORDINARY);

  test("the service lists settings with their meaning and whether they are set, and shows no secret", async () => {
    const { json, text } = await get<{ version: string; settings: Setting[] }>("/settings");
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    expect(json.version).toBe(version);
    expect(json.settings.map(({ name }) => name).toSorted()).toEqual(CONFIG_VARIABLES.toSorted());
    const of = (name: string) => json.settings.find((setting) => setting.name === name);
    expect(of("RATE_LIMIT_PER_MINUTE")).toEqual({
      name: "RATE_LIMIT_PER_MINUTE",
      group: "Limits and logs",
      value: "50",
      secret: false,
      set: true,
      meaning: expect.stringContaining("one user in a minute") as unknown,
    });
    expect(of("MAX_MESSAGE_CHARS")).toMatchObject({ value: "32000", set: false });
    expect(of("ENABLE_SUMMARY")).toMatchObject({ value: "true", set: false });
    expect(of("RETENTION_DAYS")).toMatchObject({ value: null, secret: false, set: false });
    expect(of("OPENAI_BASE_URL")).toMatchObject({ value: running.model.url, set: true });
    expect(of("OPENAI_API_KEY")).toMatchObject({ value: null, secret: true, set: true });
    expect(of("SECRETS_KEY")).toMatchObject({ value: null, secret: true, set: false });
    expect(of("RERANK_BASE_URL")).toMatchObject({ value: "https://rank.example.org/v1?…" });
    for (const secret of ["key-of-the", "sk-a-secret", JWT_SECRET, "hunter2", "hush"]) expect(text).not.toContain(secret);
  });

  test.each([
    ["a key that is not of scope admin", ORDINARY],
    ["the token of a user", bearer(secretToken({ sub: "eve" }))],
  ])("the service refuses settings and trials of models to %s", async (_who, headers) => {
    const refused = { status: 403, code: "forbidden", says: /scope admin/ };
    expectRefusal(await get("/settings", headers), refused);
    expectRefusal(await postJson<ErrorBody>(`${running.url}/api/v1/models/test`, {}, headers), refused);
  });

  test("the service lists limits with what a user and the tenant have used of them", async () => {
    await say("ada");
    const limits = async (query: string, headers = ORDINARY) => {
      const { json } = await get<{ limits: Limit[] }>(`/limits${query}`, headers);
      return Object.fromEntries(json.limits.map(({ setting, limit, used }) => [setting, [limit, used]]));
    };
    const ofUser = await limits("?user_id=ada");
    expect(ofUser).toMatchObject({
      RATE_LIMIT_PER_MINUTE: [50, 2],
      RATE_LIMIT_PER_MINUTE_PER_TENANT: [null, null],
      MAX_CONCURRENT_TURNS_PER_USER: [null, 0],
      MAX_CONCURRENT_TASKS_PER_USER: [8, 0],
      COST_PER_DAY: [null, null],
    });
    expect(ofUser["TOKENS_PER_DAY"]?.[0]).toBe(5_000);
    expect(ofUser["TOKENS_PER_DAY"]?.[1]).toBeGreaterThan(0);
    expect((await limits(""))["RATE_LIMIT_PER_MINUTE"]).toEqual([50, null]);
    expect((await limits("", bearer(secretToken({ sub: "ada" }))))["RATE_LIMIT_PER_MINUTE"]).toEqual([50, 3]);
    const asked = running.model.seen.length;
    const held = running.model.hold();
    const turn = say("bea");
    await running.model.untilAsked(asked + 1);
    expect(await limits("?user_id=bea")).toMatchObject({ MAX_CONCURRENT_TURNS_PER_USER: [null, 1] });
    held();
    await turn;
  });

  test("a trial of a model answers with a word, and a failure names the setting to change", async () => {
    const tryIt = async (body: object = {}) => (await postJson<Tested & ErrorBody>(`${running.url}/api/v1/models/test`, body, ADMIN)).json;
    running.model.answer({ tokens: ["yes", " and", " more"] });
    expect(await tryIt()).toMatchObject({ model: "test-chat", ok: true, ms: expect.any(Number), error: null, check: [] });
    running.model.answer({ status: 401 });
    expect(await tryIt()).toMatchObject({ ok: false, error: { code: "model_unauthorized" }, check: ["OPENAI_API_KEY"] });
    running.model.answer({ status: 500 });
    expect(await tryIt()).toMatchObject({ ok: false, error: { code: "model_unavailable" }, check: ["OPENAI_BASE_URL"] });
    running.model.answer({ tokens: ["yes"] });
    expect(await tryIt({ model: "nobody" })).toMatchObject({ error: { code: "invalid_request", details: [{ field: "model" }] } });
  });
});
test("the built-in model passes a trial", async () => {
  const service = await openTestService();
  expect((await postJson<Tested>(`${service.url}/api/v1/models/test`, {})).json).toMatchObject({ model: "offline", ok: true });
  await service.close();
});
