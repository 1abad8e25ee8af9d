import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeDecideWithModel } from "../../../memory/agent/decide-with-model.ts";
import type { TurnToRead } from "../../../memory/agent/remember-turns.ts";
import type { WorkingMemory, WorkingMemoryParts } from "../../../memory/agent/working-memory.ts";
import type { AnswerTimeouts } from "../../../models/deadlines.ts";
import { OfflineChatModel } from "../../../models/offline/offline-chat-model.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { type ModelScript, type ModelServer, startModelServer } from "../../servers/model-server.ts";
import { freePort } from "../../servers/postgres-server.ts";
import { archive, nothingDecided, storedSection, turnToRead, update, workingMemory } from "../../support/samples/sample-agent.ts";
import { waitUntil } from "../../support/wait-until.ts";

const PATIENT: AnswerTimeouts = { firstTokenMs: 20_000, idleMs: 20_000 };
const SECTIONS = ["profile", "goals"];

interface Asked {
  memory?: Partial<WorkingMemoryParts>;
  turns?: TurnToRead[];
  timeouts?: AnswerTimeouts;
  signal?: AbortSignal;
  url?: string;
}

describe("deciding with a model over a socket", () => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer();
  });
  afterAll(() => server.close());
  beforeEach(() => void server.seen.splice(0));

  async function decide({ memory: parts = {}, turns = [turnToRead("I moved to Porto.")], timeouts = PATIENT, signal, url }: Asked = {}) {
    const model = createOpenAIChatModel({ model: "test-memory", baseUrl: url ?? server.url });
    const memory: WorkingMemory = workingMemory({ sections: [storedSection()], ...parts });
    const decideWithModel = makeDecideWithModel({ model, timeouts, readingTokens: 500 * 4 });
    const newestIn = new Map(parts.sections?.map(({ section, saidAt }) => [section, saidAt]));
    const reading = { memory, turns, sections: SECTIONS, newestIn };
    await decideWithModel(reading, signal ?? new AbortController().signal);
    return memory;
  }

  /** Answers the first request so, each further one with the next, and those beyond with words. */
  const answerInTurn = (...scripts: ModelScript[]): void => {
    server.answer(() => scripts[server.seen.length - 1] ?? { tokens: ["Done."] });
  };
  /** What the model was told of its calls in the request with this number. */
  const toldIn = (request: number) => server.seen[request]?.body.messages.filter(({ role }) => role === "tool") ?? [];

  test("asks once, as a stream, with the tools, and changes nothing when the model calls none", async () => {
    answerInTurn({ tokens: ["nothing ", "to do"] });
    const memory = await decide();
    expect(memory.result()).toEqual(nothingDecided([storedSection()]));
    expect(server.seen).toHaveLength(1);
    const { model, stream, messages, tools } = server.seen[0]?.body ?? { messages: [] };
    expect({ model, stream, roles: messages.map(({ role }) => role) }).toEqual({
      model: "test-memory",
      stream: true,
      roles: ["system", "user"],
    });
    expect(tools?.map((tool) => tool.function.name)).toEqual(["core_memory_update", "archival_insert", "archival_search"]);
    expect(messages[1]?.content).toMatch(/<core_memory>\n\[profile\]\n> Name: Ada\n<\/core_memory>[^]*I moved to Porto\./);
  });

  test("does the calls of an answer, streamed in pieces, in their order, and tells the model what came of each", async () => {
    answerInTurn({ toolCalls: [update("profile", "Name: Ada\nLives in Porto", "moved"), update("goals", "学葡萄牙语 😀")] });
    const memory = await decide();
    expect(memory.contents()).toEqual({ profile: "Name: Ada\nLives in Porto", goals: "学葡萄牙语 😀" });
    expect(memory.result().changes).toMatchObject([
      { section: "profile", expectedVersion: 3, reason: "moved", triggerMessageIds: [turnToRead("").messageId], actor: "agent" },
      { section: "goals", expectedVersion: 0 },
    ]);
    expect(server.seen).toHaveLength(2);
    expect(toldIn(1)).toMatchObject([
      { tool_call_id: "call_1", content: 'The section "profile" now has this content.' },
      { tool_call_id: "call_2", content: 'The section "goals" now has this content.' },
    ]);
    const answered = server.seen[1]?.body.messages.at(2);
    expect(answered?.tool_calls?.map(({ id, function: { name } }) => [id, name])).toEqual([
      ["call_1", "core_memory_update"],
      ["call_2", "core_memory_update"],
    ]);
  });

  test("a later round builds on the earlier: what was found, then what is written", async () => {
    const search = { name: "archival_search", arguments: { query: "town" } };
    answerInTurn({ toolCalls: [search] }, { toolCalls: [update("profile", "Lives in Porto"), archive("Moved in spring.")] });
    const memory = await decide({ memory: { search: async () => [] } });
    expect(toldIn(1).map(({ content }) => content)).toEqual(["Nothing was found."]);
    expect(toldIn(2).map(({ content }) => content)).toEqual(["Nothing was found.", expect.stringMatching(/now has/), "Archived."]);
    expect(memory.result()).toMatchObject({ changes: [{ content: "Lives in Porto" }], archived: [{ content: "Moved in spring." }] });
  });

  test("asks a model that never stops calling four times and no more; what it called holds", async () => {
    server.answer(() => ({ toolCalls: [update("goals", `goal ${server.seen.length}`)] }));
    const memory = await decide();
    expect(server.seen).toHaveLength(4);
    expect(memory.contents()["goals"]).toBe("goal 4");
  });

  test.each<[string, { name: string; arguments: unknown }, RegExp, object]>([
    [
      "an unknown tool",
      { name: "run_shell", arguments: { content: "rm" } },
      /no tool "run_shell"/,
      { operation: "unknown_tool", reason: "run_shell" },
    ],
    ["an unknown section", update("secrets", "x"), /no section "secrets"/, { operation: "core_update", section: "secrets" }],
    ["a section named like something of every object", update("constructor", "x"), /no section/, { section: "constructor" }],
    ["the section __proto__", update("__proto__", "x"), /no section/, { section: "__proto__" }],
    [
      "bad arguments",
      { name: "core_memory_update", arguments: { section: "profile", content: 5 } },
      /content/,
      { operation: "core_update" },
    ],
    ["arguments that no text can be made of", update("profile", { toString: 1, valueOf: 1 } as never), /content/, { section: "profile" }],
    ["arguments that are no object", { name: "core_memory_update", arguments: "[1]" }, /./, { operation: "core_update" }],
    ["no JSON at all", { name: "core_memory_update", arguments: "profile := x" }, /./, { operation: "core_update" }],
    ["no arguments", { name: "archival_search", arguments: "" }, /query/, { operation: "archival_search" }],
  ])("refuses %s, tells the model, logs it, and does the good call after it", async (_name, call, says, logged) => {
    answerInTurn({ toolCalls: [call, update("goals", "To sail")] });
    const memory = await decide();
    expect(memory.contents()).toEqual({ profile: "Name: Ada", goals: "To sail" });
    expect(memory.result().operations).toMatchObject([{ ...logged, refused: expect.stringMatching(says) }]);
    expect(toldIn(1).filter(({ content }) => content.startsWith("Refused: "))).toHaveLength(1);
  });

  // Fails: the call is not sent back, and a server that checks answers 400 to the answer of a tool without its call.
  test("sends a call without JSON back beside a good one, so that no answer of a tool is without its call", async () => {
    answerInTurn({ toolCalls: [{ name: "core_memory_update", arguments: "profile := x" }, update("goals", "To sail")] });
    await decide();
    const called = server.seen[1]?.body.messages.flatMap(({ tool_calls }) => tool_calls ?? []).map(({ id }) => id);
    expect(called).toEqual(expect.arrayContaining(toldIn(1).map(({ tool_call_id }) => tool_call_id)));
  });

  test("of more than 16 calls in one answer does the first 16, refuses the others, and does not fill the log with them", async () => {
    answerInTurn({ toolCalls: Array.from({ length: 40 }, (_, number) => ({ name: `tool_${number}`, arguments: {} })) });
    const memory = await decide();
    expect(memory.result().operations).toHaveLength(16);
    expect(toldIn(1)).toHaveLength(40);
    expect(
      toldIn(1)
        .slice(16)
        .every(({ content }) => /^Refused: too many calls at once/.test(content)),
    ).toBe(true);
  });

  test.each<[string, ModelScript, string]>([
    ["refuses", { status: 401 }, "model_refused"],
    ["is asked too much", { status: 429 }, "model_rate_limited"],
    ["is down", { status: 503 }, "model_unavailable"],
    ["breaks off in a call", { toolCalls: [update("profile", "x")], ending: "cut" }, "model_interrupted"],
    ["ends without a finish reason in a call", { toolCalls: [update("profile", "x")], ending: "end" }, "model_incomplete"],
    ["sends a frame that is no JSON", { toolCalls: [update("profile", "x")], malformed: true }, "model_bad_response"],
  ])("throws an AppError when the model %s, and has changed nothing", async (_name, script, code) => {
    server.answer(script);
    const memory = workingMemory({ sections: [storedSection()] });
    const model = createOpenAIChatModel({ model: "test-memory", baseUrl: server.url });
    const reading = { memory, turns: [turnToRead("I moved.")], sections: SECTIONS, newestIn: new Map() };
    const decided = makeDecideWithModel({ model, timeouts: PATIENT, readingTokens: 500 * 4 })(reading, new AbortController().signal);
    const thrown = await decided.catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(AppError);
    expect(thrown).toMatchObject({ code });
    expect((thrown as AppError).message).not.toMatch(/moved|secret/);
    expect(memory.result()).toEqual(nothingDecided([storedSection()]));
  });

  // Fails: LangChain completes the JSON of a call that was cut, so that the section is overwritten with the half that came.
  test.each<[string, ModelScript]>([
    ["at its length", { ending: "length" }],
    ["although it says that it is complete", {}],
  ])("refuses a call whose arguments were cut %s: half a section must not take the place of the whole", async (_name, script) => {
    answerInTurn({ ...script, toolCalls: [{ name: "core_memory_update", arguments: '{"section":"profile","content":"Name: A' }] });
    const memory = await decide().catch(() => null);
    expect(memory?.contents() ?? { profile: "Name: Ada" }).toEqual({ profile: "Name: Ada" });
  });

  // Fails: the prompt says that older words replace nothing, and does not say how old the sections are.
  test("tells the model when each section was last changed", async () => {
    answerInTurn({ tokens: ["nothing to do"] });
    await decide({ memory: { sections: [storedSection({ saidAt: new Date("2019-07-08T12:00:00Z") })] } });
    expect(server.seen[0]?.body.messages[1]?.content).toMatch(/2019-07-08/);
  });

  test("throws an AppError when nothing listens there", async () => {
    const url = `http://127.0.0.1:${await freePort()}/v1`;
    await expect(decide({ url })).rejects.toMatchObject({ name: "AppError", code: "model_unavailable" });
  });

  test.each<[string, ModelScript, AnswerTimeouts, string]>([
    ["says nothing", { firstTokenMs: 5_000 }, { ...PATIENT, firstTokenMs: 150 }, "model_first_token_timeout"],
    ["falls silent in a call", { toolCalls: [update("profile", "x")], ending: "hang" }, { ...PATIENT, idleMs: 150 }, "model_stalled"],
  ])("gives up on a model that %s by the deadline, and closes the connection", async (_name, script, timeouts, code) => {
    server.answer(script);
    await expect(decide({ timeouts })).rejects.toMatchObject({ name: "AppError", code });
    await waitUntil("the connection to close", () => server.seen.every(({ aborted }) => aborted));
    expect(server.seen).toHaveLength(1);
  });

  test("stops at once when its signal aborts, with the reason", async () => {
    server.answer({ toolCalls: [update("profile", "x")], ending: "hang" });
    const controller = new AbortController();
    const reason = new AppError("shutting_down", "The process that ran the job stopped.");
    const decided = decide({ signal: controller.signal }).catch((error: unknown) => error);
    await waitUntil("the request", () => server.seen.length === 1);
    controller.abort(reason);
    expect(await decided).toBe(reason);
    await waitUntil("the connection to close", () => server.seen.every(({ aborted }) => aborted));
  });
});

test("a model that cannot call tools is a clear error that names MEMORY_MODEL", async () => {
  const model = new OfflineChatModel();
  const reading = { memory: workingMemory(), turns: [turnToRead("I moved.")], sections: SECTIONS, newestIn: new Map() };
  const decided = makeDecideWithModel({ model, timeouts: PATIENT, readingTokens: 500 * 4 })(reading, new AbortController().signal);
  await expect(decided).rejects.toMatchObject({
    name: "AppError",
    code: "invalid_configuration",
    message: expect.stringMatching(/MEMORY_MODEL/),
  });
});
