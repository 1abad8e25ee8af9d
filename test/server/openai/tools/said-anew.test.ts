import { beforeEach, describe, expect, test } from "@jest/globals";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resultsAsAnswer } from "../../../../agents/questions/questions.ts";
import { makeQuestionStore } from "../../../../stores/postgres/agents/question-store.ts";
import type { ChatRequestBody, ScriptedToolCall } from "../../../servers/model-server.ts";
import { listConversations, listMessages } from "../../../support/clients/api-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { openServiceWithModel } from "../../../support/services/service-with-model.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { waitUntil } from "../../../support/wait-until.ts";
import { type Application, completions, parameters, responses, type Result } from "./ask-with-results.ts";

const names = (body: ChatRequestBody | undefined): string[] => (body?.tools ?? []).map(({ function: { name } }) => name);
const told = (body: ChatRequestBody | undefined): string =>
  (body?.messages ?? []).flatMap(({ role, content }) => (role === "system" ? [content] : [])).join("\n");

async function open() {
  const MODELS = join(await mkdtemp(join(tmpdir(), "models-")), "models.json");
  await writeFile(MODELS, JSON.stringify({ large: {} }));
  return openServiceWithModel({ MODELS });
}

describe.each([
  ["a completion", completions(false)],
  ["a streamed completion", completions(true)],
  ["a response after the previous one", responses(false, "previous")],
  ["a streamed response with its whole input", responses(true, "whole")],
])("%s that brings the results of tools", (_name, ask) => {
  const running = useOpened(open);
  let user = "";
  let count = 0;
  beforeEach(() => {
    user = `city-${count++}`;
  });
  const seen = () => running.model.seen.at(-1)?.body;
  const call = (name: string): ScriptedToolCall => ({ name, id: `${user}-${name}`, arguments: {} });
  const resultOf = (name: string): Result => ({ callId: `${user}-${name}`, output: `result of ${name}` });

  /** The model makes these calls, answer by answer, and then says "done". */
  function script(...answers: (string | ScriptedToolCall)[]): void {
    const waiting = [...answers];
    running.model.answer(() => {
      const next = waiting.shift() ?? "done";
      return typeof next === "string" ? { tokens: [next] } : { toolCalls: [next] };
    });
  }

  test("is answered with its own instructions, tools and model, as an agent that takes over sends them", async () => {
    script(call("transfer_to_bob"));
    const first = await ask(running.url, user, { instructions: "You are Alice.", tools: ["transfer_to_bob"], temperature: 1 });
    expect(first).toMatchObject({ reason: "tool_calls", calls: ["transfer_to_bob"] });
    const bob = { instructions: "You are Bob.", tools: ["weather"], model: "large", limit: 77 };
    const second = await ask(running.url, user, bob, { of: first, given: [resultOf("transfer_to_bob")] });
    expect(second).toMatchObject({ reason: "stop", text: "done" });
    expect(names(seen())).toEqual(["weather"]);
    expect(told(seen())).toContain("You are Bob.");
    expect(told(seen())).not.toContain("You are Alice.");
    expect(seen()).toMatchObject({ model: "large", max_tokens: 77 });
    expect(seen()).not.toHaveProperty("temperature", 1);
    expect(JSON.stringify(seen()?.messages)).toContain("result of transfer_to_bob");
  });

  test("waits again for a call of its own tools", async () => {
    script(call("transfer_to_bob"), call("weather"));
    const first = await ask(running.url, user, { instructions: "You are Alice.", tools: ["transfer_to_bob"] });
    const bob = { instructions: "You are Bob.", tools: ["weather"] };
    const second = await ask(running.url, user, bob, { of: first, given: [resultOf("transfer_to_bob")] });
    expect(second).toMatchObject({ reason: "tool_calls", calls: ["weather"] });
    const third = await ask(running.url, user, bob, { of: second, given: [resultOf("weather")] });
    expect(third).toMatchObject({ reason: "stop", text: "done" });
    expect(told(seen())).toContain("You are Bob.");
  });

  test.each<[string, Application]>([
    ["tool_choice none", { tools: ["weather"], tool_choice: "none" }],
    ["no tools", {}],
  ])("offers the model no tools with %s, and refuses a call that the model still makes", async (_how, last) => {
    script(call("weather"), { name: "weather", id: `${user}-again`, arguments: {} });
    const first = await ask(running.url, user, { instructions: "Be brief.", tools: ["weather"] });
    const second = await ask(running.url, user, last, { of: first, given: [resultOf("weather")] });
    expect(names(running.model.seen.at(-2)?.body)).toEqual([]);
    expect(told(running.model.seen.at(-2)?.body)).not.toContain("Be brief.");
    expect(second).toMatchObject({ reason: "stop", text: "done", calls: [] });
    expect(JSON.stringify(seen()?.messages)).toContain("unknown_tool");
  });

  test("fails when its first request offers no tools and the model only calls one", async () => {
    script(call("weather"), call("weather"));
    const failed = ask(running.url, user, {}).then(
      ({ text }) => text,
      ({ code, error }: { code?: string; error?: { code?: string } }) => code ?? error?.code,
    );
    expect(await failed).toBe("model_incomplete");
  });

  test("ends with the calls that it demands", async () => {
    script(call("weather"), call("report"));
    const first = await ask(running.url, user, { tools: ["weather"] });
    const last: Application = { tools: ["weather", "report"], tool_choice: { named: "report" } };
    const second = await ask(running.url, user, last, { of: first, given: [resultOf("weather")] });
    expect(second).toMatchObject({ reason: "tool_calls", calls: ["report"] });
    expect(names(seen())).toEqual(["report"]);
  });

  test.each<[string, Application, Application]>([
    ["required", { tool_choice: "required" }, { tool_choice: "required" }],
    ["named", { tool_choice: { named: "weather" } }, { tool_choice: { named: "weather" } }],
    ["required, and then called freely", { tool_choice: "required" }, {}],
  ])("continues a turn that ended with a call that was %s, and is answered once", async (_how, forced, then) => {
    script(call("weather"), { name: "weather", id: `${user}-again`, arguments: { city: "Porto" } });
    const alice: Application = { instructions: "You are Alice.", tools: ["weather"] };
    const first = await ask(running.url, user, { ...alice, ...forced });
    expect(first).toMatchObject({ reason: "tool_calls", calls: ["weather"] });
    const second = await ask(running.url, user, { ...alice, ...then }, { of: first, given: [resultOf("weather")] });
    expect(second).toMatchObject({ reason: "tool_calls", calls: ["weather"] });
    const last: Application = { instructions: "You are Bob.", tools: ["weather"] };
    const third = await ask(running.url, user, last, { of: second, given: [resultOf("again")] });
    expect(third).toMatchObject({ reason: "stop", text: "done", calls: [] });
    expect(told(seen())).toContain("You are Bob.");
    const sent = JSON.stringify(seen()?.messages);
    expect(sent.indexOf("result of weather")).toBeGreaterThan(0);
    expect(sent.indexOf("result of again")).toBeGreaterThan(sent.indexOf("result of weather"));
    const [conversation, ...others] = await listConversations(running.url, user);
    expect(others).toEqual([]);
    const stored = await listMessages(running.url, conversation?.id ?? "");
    expect(stored.map(({ content, completed }) => [content, completed])).toEqual([
      [`How is it in ${user}?`, true],
      ["done", true],
    ]);
  });

  test("is answered in the form that it demands", async () => {
    script(call("weather"), '{"sky":"blue"}');
    const first = await ask(running.url, user, { tools: ["weather"] });
    const form = { type: "object", properties: { sky: { type: "string" } }, required: ["sky"] };
    const second = await ask(running.url, user, { form }, { of: first, given: [resultOf("weather")] });
    expect(second).toMatchObject({ reason: "stop", text: '{"sky":"blue"}' });
    expect(seen()?.response_format).toMatchObject({ type: "json_schema" });
  });
});

describe("the fields of a request with results", () => {
  const database = useTestPostgres();
  const running = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url }));

  test("are used by another process, too, when the process that took them has died", async () => {
    running.model.answer(({ messages }) =>
      messages.at(-1)?.role === "tool" ? { tokens: ["done"] } : { toolCalls: [{ name: "transfer", id: "t1", arguments: {} }] },
    );
    const owner = { tenantId: "default", userId: "ada" };
    const ask = completions(false);
    await ask(running.url, owner.userId, { instructions: "You are Alice.", tools: ["transfer"] });
    const questions = makeQuestionStore(database);
    const [waiting] = (await questions.list(owner, { limit: 1, after: null })).items;
    const tool = { type: "function" as const, function: { name: "weather", parameters } };
    const givenAnew = {
      ...{ instructions: "You are Bob.", callerTools: { tools: [tool], mustCall: false } },
      ...{ modelOptions: null, requestedModel: null, interactive: false },
    };
    // As a process does that takes the answer, and dies.
    const value = resultsAsAnswer(new Map([["t1", "over to Bob"]]));
    await questions.answer(owner, waiting?.question.id ?? "", { value, text: null, givenAnew }, 1);
    await waitUntil("the turn to go on", () => running.model.seen.length === 2);
    const seen = running.model.seen.at(-1)?.body;
    expect(names(seen)).toEqual(["weather"]);
    expect(told(seen)).toContain("You are Bob.");
    expect(told(seen)).not.toContain("You are Alice.");
  });
});
