import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { IncomingMessage, ServerResponse } from "node:http";
import { DEFAULT_TIMEOUTS } from "../../../turn/deadlines.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { makeDialects } from "../../../models/wire/dialects.ts";
import { NOOP_OBSERVER } from "../../../observe/observer.ts";
import { testModel } from "../../../server/models/probe-model.ts";
import { readJson } from "../../servers/http-server.ts";
import { type ChatRequestBody, type ModelScript, startModelServer } from "../../servers/model-server.ts";
import { callApi, type ErrorBody, postJson } from "../../support/clients/api-client.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { writeModelList } from "../../support/model-list.ts";
import { openTestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";

interface Lesson {
  what: string;
  words: string;
  at: string;
}
interface Listed {
  models: { name: string; learned: Lesson[] }[];
  embedding: { model: string; learned: Lesson[] } | null;
}
interface Tested {
  model: string;
  ok: boolean;
  error: { code: string } | null;
  check: string[];
  results: { what: string; ok: boolean | null; ms: number | null; note: string | null }[];
  learned: Lesson[];
}

const REFUSAL = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
const refusing = (message: string): ModelScript => ({ status: 400, error: { message, type: "invalid_request_error" } });
const hasPicture = ({ messages }: ChatRequestBody): boolean => JSON.stringify(messages).includes("data:image/png;base64,");
const FORM = '{"country": "Portugal", "population_in_millions": 10.6}';

/** It can do everything, and knows `max_tokens` by its newer name. */
function capable(body: ChatRequestBody): ModelScript {
  if (body.max_tokens !== undefined) return refusing(REFUSAL);
  if (body.tools) return { thoughts: ["A product."], toolCalls: [{ name: "calculate", arguments: { expression: "1234 * 5678" } }] };
  if (body.response_format) return { tokens: [FORM] };
  return { thoughts: ["An easy one."], tokens: [hasPicture(body) ? "Red." : "yes"] };
}

/** It can only talk. */
function plain(body: ChatRequestBody): ModelScript {
  if (body.tools) return refusing("test-chat does not support tools");
  if (hasPicture(body)) return refusing("image input is not supported by this model");
  if (body.messages.at(-1)?.content.includes("JSON schema")) return { tokens: [FORM] };
  return { tokens: ["Portugal, with ten million people."] };
}

/** Of this many numbers; asked for floats it refuses. */
async function embed(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  if (!request.url?.endsWith("/embeddings")) return response.writeHead(404).end("{}");
  const { input, encoding_format } = await readJson<{ input: string[]; encoding_format?: string }>(request);
  response.writeHead(encoding_format === undefined ? 200 : 400, { "content-type": "application/json" });
  const error = { message: "Unrecognized request argument supplied: encoding_format" };
  const data = input.map((_text, index) => ({ index, embedding: [1, 2, 3, 4] }));
  return response.end(JSON.stringify(encoding_format === undefined ? { data } : { error }));
}

let opened: AsyncDisposableStack;
beforeEach(() => {
  opened = new AsyncDisposableStack();
});
afterEach(() => opened.disposeAsync());

async function open(environment: Record<string, string> = {}) {
  const model = await startModelServer({ other: (request, response) => embed(request, response) });
  opened.defer(() => model.close());
  const { url, close } = await openTestService({ OPENAI_BASE_URL: model.url, CHAT_MODEL: "test-chat", ...environment });
  opened.defer(close);
  return {
    ...{ url, model },
    list: async () => (await callApi<Listed>(`${url}/api/v1/models`)).json,
    tryIt: async (body: object = {}) => (await postJson<Tested & ErrorBody>(`${url}/api/v1/models/test`, body)).json,
    say: () => postJson(`${url}/api/v1/chat`, { user_id: "ada", session_id: "s", message: "hello" }),
  };
}

type Shown = Pick<Tested, "results">;
const outcomes = ({ results }: Shown) => Object.fromEntries(results.map(({ what, ok }) => [what, ok]));
const noteOf = ({ results }: Shown, of: string) => results.find(({ what }) => what === of)?.note;

test("a lesson from a refusal is listed with the server's words, and a trial of the model forgets it and learns it anew", async () => {
  const { model, list, tryIt, say } = await open();
  expect(await list()).toMatchObject({ models: [{ name: "test-chat", learned: [] }], embedding: { model: "text-embedding-3-small" } });
  model.answer(capable);
  expect((await say()).status).toBe(200);
  const before = await list();
  const lesson = { what: "max_completion_tokens", words: REFUSAL, at: expect.stringMatching(/^\d{4}-.*Z$/) as unknown };
  expect(before.models).toEqual([expect.objectContaining({ name: "test-chat", learned: [lesson] })]);

  const seen = model.seen.length;
  const tested = await tryIt();
  expect(model.seen.slice(seen).map(({ body }) => body.max_tokens !== undefined)).toEqual([true, false, false, false, false]);
  expect(tested.learned).toEqual([lesson]);
  expect(new Date(tested.learned[0]?.at ?? 0) > new Date(before.models[0]?.learned[0]?.at ?? 0)).toBe(true);

  model.answer({ tokens: ["yes"] });
  expect((await tryIt()).learned).toEqual([]);
  expect((await list()).models).toEqual([expect.objectContaining({ learned: [] })]);
});

test("a trial shows every ability of a model that can do everything, and tries the embeddings of its server", async () => {
  const { model, list, tryIt } = await open({ ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_MODEL: "test-embedding" });
  const ofFloats = { what: "no_encoding_format", words: "Unrecognized request argument supplied: encoding_format" };
  expect((await list()).embedding).toMatchObject({ model: "test-embedding", learned: [ofFloats] });
  model.answer(capable);
  const tested = await tryIt();
  expect(tested).toMatchObject({ model: "test-chat", ok: true, error: null, check: [] });
  expect(tested.results.map(({ what, ok }) => [what, ok])).toEqual([
    ["text", true],
    ["thought", true],
    ["call", true],
    ["form", true],
    ["picture", true],
    ["embedding", true],
  ]);
  expect(tested.results.every(({ ms }) => typeof ms === "number")).toBe(true);
  expect(noteOf(tested, "form")).toMatch(/fitted at once/);
  expect(noteOf(tested, "embedding")).toBe("A vector has 4 numbers.");
  expect(tested.learned).toMatchObject([{ what: "max_completion_tokens" }, ofFloats]);
  const call = model.seen.find(({ body }) => body.tools);
  expect(call?.body).toMatchObject({ tools: [{ function: { name: "calculate" } }], tool_choice: "required" });
});

test("a trial shows a model that can only talk as such, with its server's words for each failure", async () => {
  const { model, tryIt } = await open();
  model.answer(plain);
  const tested = await tryIt();
  expect(tested.ok).toBe(true);
  expect(outcomes(tested)).toEqual({ text: true, thought: null, call: false, form: true, picture: false, embedding: null });
  expect(noteOf(tested, "thought")).toBe("This model sent none.");
  expect(noteOf(tested, "call")).toContain("test-chat does not support tools");
  expect(noteOf(tested, "form")).toMatch(/put right/);
  expect(noteOf(tested, "picture")).toBe("It takes no pictures.");
  expect(noteOf(tested, "embedding")).toBe("Episodic memory is off.");
});

test.each([
  ["answers in words", { tokens: ["7006652"] }, /without a call/],
  ["calls something else", { toolCalls: [{ name: "search", arguments: {} }] }, /"search"/],
  ["leaves out an argument", { toolCalls: [{ name: "calculate", arguments: {} }] }, /expression/],
  ["sends no JSON", { toolCalls: [{ name: "calculate", arguments: "1234 * 5678" }] }, /no JSON object/],
])("a trial finds that a model cannot call tools when it %s instead of the call", async (_how, script, note) => {
  const { model, tryIt } = await open();
  model.answer((body) => (body.tools ? script : { tokens: ["yes"] }));
  const tested = await tryIt();
  expect(outcomes(tested)).toMatchObject({ text: true, call: false });
  expect(noteOf(tested, "call")).toMatch(note);
});

test("a trial asks a model twice when its answer does not keep the form", async () => {
  const { model, tryIt } = await open();
  model.answer({ tokens: ["yes"] });
  const tested = await tryIt();
  expect(outcomes(tested)).toMatchObject({ form: false, picture: false });
  expect(noteOf(tested, "form")).toBe("Its answer did not fit, nor did a second one.");
  expect(noteOf(tested, "picture")).toMatch(/did not name the colour/);
});

test("a trial gives more tokens to a model whose thoughts use all of them, and judges nothing that did not end", async () => {
  const { model, tryIt } = await open();
  model.answer({ thoughts: ["Let me think."], tokens: [], ending: "length" });
  const tested = await tryIt();
  expect(tested).toMatchObject({ ok: true, error: null });
  expect(outcomes(tested)).toMatchObject({ text: true, thought: true, call: null, form: null, picture: null });
  expect(model.seen.map(({ body }) => body.max_tokens)).toEqual([400, 1_200, 1_200, 1_200, 1_200]);
});

test("a trial asks nothing else of a model that does not answer", async () => {
  const { model, tryIt } = await open();
  model.answer({ status: 401 });
  const tested = await tryIt();
  expect(tested).toMatchObject({ ok: false, error: { code: "model_unauthorized" }, check: ["OPENAI_API_KEY"] });
  expect(outcomes(tested)).toEqual({ text: false, thought: null, call: null, form: null, picture: null, embedding: null });
  expect(model.seen).toHaveLength(1);
});

test("a trial asks a task's model at its own server, and its lessons are apart", async () => {
  const other = await startModelServer();
  opened.defer(() => other.close());
  const { model, list, tryIt } = await open({
    MEMORY_MODEL: "test-memory",
    MODELS: writeModelList({ "test-memory": { base_url: other.url, internal: true } }),
  });
  other.answer(capable);
  const tested = await tryIt({ model: "test-memory" });
  expect(outcomes(tested)).toMatchObject({ text: true, call: true, embedding: null });
  expect(model.seen).toEqual([]);
  const { models } = await list();
  expect(models.map(({ name, learned }) => [name, learned.map(({ what }) => what)])).toEqual([
    ["test-chat", []],
    ["test-memory", ["max_completion_tokens"]],
  ]);
  other.answer({ status: 401 });
  expect(await tryIt({ model: "test-memory" })).toMatchObject({ check: ['api_key of "test-memory" in MODELS'] });
});

test("a trial stops a question when its total time is over, and leaves out the rest", async () => {
  const server = await startModelServer();
  opened.defer(() => server.close());
  server.answer((body) => (body.tools ? { firstTokenMs: 60_000 } : { tokens: ["yes"] }));
  const tested = await testModel({
    ...{ name: "slow", model: createOpenAIChatModel({ model: "slow", baseUrl: server.url }), purpose: "task", mostMs: 1_000 },
    ...{ timeouts: DEFAULT_TIMEOUTS, observer: NOOP_OBSERVER, signal: new AbortController().signal },
    ...{ dialects: makeDialects(), embedding: "There is none." },
  });
  expect(outcomes(tested)).toEqual({ text: true, thought: null, call: false, form: null, picture: null, embedding: null });
  expect(noteOf(tested, "call")).toBe("All attempts together took longer than 1 s.");
  expect(noteOf(tested, "form")).toBe("There was no time left.");
});

test("a trial stops asking the model when the client leaves", async () => {
  const { url, model } = await open();
  model.answer({ firstTokenMs: 60_000 });
  const leaving = new AbortController();
  const asked = fetch(`${url}/api/v1/models/test`, { method: "POST", signal: leaving.signal }).catch(() => "left");
  await model.untilAsked();
  leaving.abort();
  expect(await asked).toBe("left");
  await waitUntil("the model's server sees it", () => model.seen[0]?.aborted === true);
  expect(model.seen).toHaveLength(1);
});

test("an answer that ends with an unknown finish reason counts as whole, and the metrics count the reason", async () => {
  const { url, model, say } = await open();
  model.answer({ tokens: ["Hello."], ending: "fin" as "stop" });
  expect((await say()).status).toBe(200);
  const { samples } = await readMetrics(url);
  expect(samples.get('conversation_graph_model_finish_unknown_total{purpose="chat"}')).toBe(1);
});
