import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createDataFolder } from "../servers/data-folder.ts";
import { type ChatRequestBody, type ModelScript, type ModelServer, startModelServer } from "../servers/model-server.ts";
import { runScript } from "../support/run-script.ts";
import { openTestService, type TestService } from "../support/services/service.ts";

const KEYS = "only-reads:default:read,an-ordinary-key:default,the-operators-key:acme:admin";
const REFUSAL = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";

/** It calls, knows no schema and sees nothing. */
function answer(body: ChatRequestBody): ModelScript {
  if (body.max_tokens !== undefined) return { status: 400, error: { message: REFUSAL } };
  if (body.tools) return { toolCalls: [{ name: "calculate", arguments: { expression: "1234 * 5678" } }] };
  return { tokens: ["yes"] };
}

let model: ModelServer;
let service: TestService;
let environment: Record<string, string>;
const closing = new AsyncDisposableStack();
beforeAll(async () => {
  const { folder, remove } = await createDataFolder();
  closing.defer(remove);
  model = await startModelServer();
  closing.defer(() => model.close());
  environment = { DATA_DIR: folder, API_KEYS: KEYS, OPENAI_BASE_URL: model.url, CHAT_MODEL: "test-chat", ENABLE_EPISODIC_MEMORY: "false" };
  service = await openTestService(environment);
  closing.defer(() => service.close());
});
afterAll(() => closing.disposeAsync());

const run = (...words: string[]) => runScript("models", words, environment);

test("npm run models -- test prints what the model can do and what its server has taught, with the key of the operator", async () => {
  model.answer(answer);
  const { code, stdout, stderr } = await run("test");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toBe("test-chat");
  const rows = lines.slice(1, 7).map((line) => line.trim().split(/ {2,}/));
  expect(rows.map(([what, outcome]) => [what, outcome])).toEqual([
    ["text", "yes"],
    ["thought", "–"],
    ["call", "yes"],
    ["form", "no"],
    ["picture", "no"],
    ["embedding", "–"],
  ]);
  expect(rows[0]?.[2]).toMatch(/^\d+ ms$/);
  expect(rows[1]?.[2]).toBe("This model sent none.");
  expect(lines[7]).toMatch(/^ {2}learnt \d{4}-\d\d-\d\d: the bound of the answer is sent as max_completion_tokens\. ".*max_tokens.*"$/);
  expect(lines).toHaveLength(8);
});

test("npm run models lists the models with what was learnt about them", async () => {
  model.answer(answer);
  await run("test", "test-chat");
  const lines = (await run()).stdout.trimEnd().split("\n");
  expect(lines).toEqual([
    expect.stringMatching(/^test-chat: chat, router, summary, memory; a context of \d+ tokens \(\w+\)$/),
    expect.stringMatching(/^ {2}learnt .*max_completion_tokens/),
    expect.stringMatching(/^text-embedding-3-small: embeddings$/),
  ]);
});

test("npm run models -- test ends with status 1 and says where to look when a model does not answer", async () => {
  model.answer({ status: 401 });
  const { code, stdout } = await run("test");
  expect(code).toBe(1);
  expect(stdout).toMatch(/text {7}no .*OPENAI_API_KEY/);
  expect(stdout).toMatch(/\n {2}look at: OPENAI_API_KEY\n$/);
});

test("npm run models sends --key to a service at --url, and never a key of this environment", async () => {
  const foreign = await run("--url", service.url);
  expect(foreign).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/^unauthorized: [^\n]*\n$/) as unknown });
  expect((await run("--url", service.url, "--key", "only-reads")).stdout).toMatch(/^test-chat: /);
  const refused = await run("test", "--url", service.url, "--key", "an-ordinary-key");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^forbidden: .*scope admin/) as unknown });
});

test("npm run models prints one clear line with status 1 for an unknown model and for a service that does not run", async () => {
  expect(await run("test", "nobody")).toMatchObject({ code: 1, stderr: expect.stringMatching(/^invalid_request: [^\n]*\n$/) as unknown });
  const nowhere = await runScript("models", [], { ...environment, DATABASE_URL: "postgres://nobody@127.0.0.1:9/none", PORT: "9" });
  expect(nowhere).toEqual({ code: 1, stdout: "", stderr: "http://127.0.0.1:9 does not answer. Start the service with npm start.\n" });
});
