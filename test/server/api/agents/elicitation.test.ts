import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Waiting } from "../../../../turn/events.ts";
import { callApi } from "../../../support/clients/api-client.ts";
import { contentOf, type EventStreamResponse } from "../../../support/clients/event-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { askingClient, callOf, expireQuestions, statuses } from "../../../support/services/asking-agent.ts";
import { openTestService } from "../../../support/services/service.ts";
import { openServiceWithModel } from "../../../support/services/service-with-model.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const fileOf = (name: string): string => fileURLToPath(new URL(`../../../../${name}`, import.meta.url));
const server = (...args: string[]) => ({ command: process.execPath, args });
const folder = mkdtempSync(path.join(os.tmpdir(), "elicitation-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const MCP_CONFIG = path.join(folder, "mcp.json");
const mcpServers = {
  desk: server(fileOf("test/servers/asking-mcp-server.ts")),
  everything: server(fileOf("node_modules/@modelcontextprotocol/server-everything/dist/index.js")),
};
writeFileSync(MCP_CONFIG, JSON.stringify({ mcpServers }));

const database = useTestPostgres();
const settings = () => ({ DATABASE_URL: database.url, MCP_CONFIG });
const opened = useOpened(() => openServiceWithModel(settings()));
let client: ReturnType<typeof askingClient>;
beforeEach(async () => {
  client = askingClient(opened);
  await client.makeAgent("clerk", { permissions: [{ tool: "*", action: "allow" }] });
});

const toolOf = (name: string): string => `mcp__desk__${name}`;
const outputs = ({ events }: EventStreamResponse): [ok: boolean, output: string][] =>
  events.flatMap(({ data }) => (data.status === "tool_result" ? [[data.content.ok, data.content.output] as [boolean, string]] : []));

/** Answers the questions of a turn one after the other, and returns the events behind the last answer. */
async function answerAll(waiting: Waiting, answers: readonly object[]): Promise<EventStreamResponse> {
  const [next = {}, ...others] = answers;
  const { status, text } = await client.answer(waiting, next);
  expect([status, status === 201 ? "" : text]).toEqual([201, ""]);
  const rest = await client.rest(waiting);
  return others.length === 0 ? rest : answerAll(contentOf(rest.events, "waiting"), others);
}

/** What the server has done since the service was started. */
async function doneAt(): Promise<string> {
  client.follow([callOf(toolOf("done"), {})], "Done.");
  return outputs(await client.ask("clerk"))[0]?.[1] ?? "";
}

describe("a question that an MCP server asks during a call", () => {
  test("is put field by field, repeats a field whose answer does not fit, and the call is then made again with the answers", async () => {
    client.follow([callOf(toolOf("book"), {}, "b")], "Booked.");
    const asked = await client.ask("clerk");
    expect(statuses(asked)).toEqual(["route_decision", "tool_call", "tool_result", "clarification_asked", "waiting"]);
    expect(outputs(asked)).toEqual([[false, expect.stringContaining("the call is made again with the answer")]]);
    const waiting = contentOf(asked.events, "waiting");
    expect(waiting.question).toMatchObject({
      type: "clarification",
      question: 'The MCP server "desk" asks in the middle of "mcp__desk__book": Where do you want to sit?\n\nSeat',
      options: [{ label: "window" }, { label: "aisle" }, { label: "decline" }],
      tool: { name: toolOf("book"), arguments: {} },
    });
    await client.answer(waiting, { answer: "aisle" });
    const people = contentOf((await client.rest(waiting)).events, "waiting");
    expect(people.question.question).toMatch(/people: How many you are\.$/);
    await client.answer(people, { text: "nine" });
    const again = contentOf((await client.rest(people)).events, "waiting");
    expect(again.question.question).toMatch(/The last answer did not fit: it is no number$/);
    await client.answer(again, { text: "９" });
    const tooMany = contentOf((await client.rest(again)).events, "waiting");
    expect(tooMany.question.question).toMatch(/did not fit: 9 is greater than 8/);
    await client.answer(tooMany, { text: "２" });
    const email = contentOf((await client.rest(tooMany)).events, "waiting");
    expect(email.question.options.map(({ label }) => label)).toEqual(["leave out", "decline"]);
    await client.answer(email, { answer: "leave out" });
    const vegan = contentOf((await client.rest(email)).events, "waiting");
    expect(vegan.question.options.map(({ label, is_recommended }) => [label, is_recommended])).toEqual([
      ["yes", false],
      ["no", true],
      ["leave out", false],
      ["decline", false],
    ]);
    await client.answer(vegan, { answer: "yes" });
    const rest = await client.rest(vegan);
    expect(statuses(rest)).toEqual(["clarification_answered", "tool_call", "tool_result", "token", "done"]);
    expect(outputs(rest)).toEqual([[true, 'accept {"seat":"aisle","people":2,"vegan":true}']]);
    expect(contentOf(rest.events, "done")).toMatchObject({ answer: "Booked.", tool_calls: 2 });
    const { json } = await callApi<{ steps: { kind: string; ok: boolean }[] }>(`${opened.url}/api/v1/turns/${waiting.turn_id}/steps`);
    expect(json.steps.filter(({ kind }) => kind === "tool").map(({ ok }) => ok)).toEqual([false, true]);
    expect(await doneAt()).toBe("book accept");
  });

  test("is a yes or no when its form has no fields, and a second form of the same call is asked, too", async () => {
    client.follow([callOf(toolOf("erase"), { file: "notes" })], "Erased.");
    const waiting = await client.untilWaiting("clerk");
    expect(waiting.question.options.map(({ label }) => label)).toEqual(["yes", "no"]);
    const rest = await answerAll(waiting, [{ answer: "yes" }, { answer: "yes" }]);
    expect(outputs(rest)).toEqual([[true, "accept accept"]]);
    expect(contentOf(rest.events, "done").tool_calls).toBe(3);
    expect(await doneAt()).toMatch(/erase accept accept$/);
  });

  test.each<[what: string, tool: string, answers: object[], told: RegExp]>([
    ["declined by the person", "book", [{ answer: "window" }, { answer: "decline" }], /declined to answer/],
    ["answered with no", "erase", [{ answer: "no" }], /declined to answer/],
  ])("ends the call when it is %s, and the model reads why", async (_what, tool, answers, told) => {
    const before = await doneAt();
    client.follow([callOf(toolOf(tool), { file: "notes" })], "Not done.");
    const rest = await answerAll(await client.untilWaiting("clerk"), answers);
    expect(outputs(rest)).toEqual([[false, expect.stringMatching(told)]]);
    expect(contentOf(rest.events, "done").answer).toBe("Not done.");
    expect(await doneAt()).toBe(before);
  });

  test('is reported to the model when nobody answers in time, and the server hears "cancel" when nobody can be asked', async () => {
    client.follow([callOf(toolOf("book"), {})], "Not booked.");
    const waiting = await client.untilWaiting("clerk");
    await expireQuestions(database);
    await waitUntil("the turn has gone on", async () => (await client.turn(waiting)).state === "done");
    expect(outputs(await client.rest(waiting)).at(-1)).toEqual([false, expect.stringContaining("Nobody answered in time")]);
    const alone = await client.ask("clerk", { interactive: false });
    expect(outputs(alone)).toEqual([[true, "cancel {}"]]);
  });

  test("is not put to the person when the server goes on without an answer", async () => {
    client.follow([callOf(toolOf("careless"), {})], "Done.");
    const asked = await client.ask("clerk");
    expect([outputs(asked), statuses(asked).at(-1)]).toEqual([[[true, "done anyway: nobody"]], "done"]);
  });

  test("is asked at most five times when its words always change, and an answer to other words does not count", async () => {
    client.follow([callOf(toolOf("fickle"), {})], "Odd.");
    const rest = await answerAll(await client.untilWaiting("clerk"), Array(5).fill({ answer: "yes" }));
    expect([outputs(rest)[0]?.[0], statuses(rest).at(-1)]).toEqual([false, "done"]);
    expect(await doneAt()).not.toContain("fickle accept");
  });

  test("is cancelled while its server has several calls, and after a call that was given up", async () => {
    const beside = await openTestService({ ...settings(), OPENAI_BASE_URL: opened.model.url, CHAT_MODEL: "test-chat" });
    try {
      const other = askingClient({ url: beside.url, model: opened.model });
      const both = [callOf(toolOf("book"), {}, "one"), callOf(toolOf("hang"), {}, "two")];
      await other.makeAgent("hasty", { permissions: [{ tool: "*", action: "allow" }], limits: { timeout_s: 6 } });
      other.follow(both, "Late.");
      expect(outputs(await other.ask("hasty"))).toContainEqual([true, "cancel {}"]);
      other.follow([callOf(toolOf("book"), {}, "three"), callOf(toolOf("done"), {}, "four")], "Now.");
      // The call that hung was given up: what the server asks now may be about that one.
      expect(outputs(await other.ask("clerk"))).toContainEqual([true, "cancel {}"]);
    } finally {
      await beside.close();
    }
  });

  test("is asked for each of several calls, one call at a time, once the server is known to ask", async () => {
    const erase = (file: string) => callOf(toolOf("erase"), { file }, file);
    client.follow([erase("first")], "No.");
    await answerAll(await client.untilWaiting("clerk"), [{ answer: "no" }]);
    client.follow([erase("one"), erase("two")], "Both.");
    const one = await client.untilWaiting("clerk");
    expect(one.question.question).toContain("Erase one?");
    await client.answer(one, { answer: "no" });
    const two = contentOf((await client.rest(one)).events, "waiting");
    expect(two.question).toMatchObject({
      question: expect.stringContaining("Erase two?") as unknown,
      tool: { arguments: { file: "two" } },
    });
    expect(outputs(await answerAll(two, [{ answer: "yes" }, { answer: "yes" }]))).toEqual([[true, "accept accept"]]);
  });

  test("is answered in another process after the process that asked has ended", async () => {
    client.follow([callOf(toolOf("erase"), { file: "letters" })], "Erased.");
    const first = await openTestService({ ...settings(), OPENAI_BASE_URL: opened.model.url, CHAT_MODEL: "test-chat" });
    const waiting = await askingClient({ url: first.url, model: opened.model }).untilWaiting("clerk");
    await first.close();
    const rest = await answerAll(waiting, [{ answer: "yes" }, { answer: "yes" }]);
    expect(outputs(rest)).toEqual([[true, "accept accept"]]);
  });

  test("can have a form of thirteen fields like server-everything's, and takes the values that the form recommends", async () => {
    client.follow([callOf("mcp__everything__trigger-elicitation-request", {})], "Thanks.");
    let waiting = await client.untilWaiting("clerk");
    let rest: EventStreamResponse | null = null;
    for (let count = 0; count < 13; count++) {
      const { options, allow_multiple: several, question } = waiting.question;
      const usual = options.filter(({ is_recommended }) => is_recommended).map(({ label }) => label);
      const text = question.includes("legal name") ? "Ada" : question.includes("email") ? "ada@example.org" : null;
      const answer = text ? { text } : usual.length > 0 ? { answer: several ? usual : usual[0] } : { answer: "leave out" };
      rest = await answerAll(waiting, [answer]);
      if (statuses(rest).at(-1) !== "waiting") break;
      waiting = contentOf(rest.events, "waiting");
    }
    const [[ok, output] = []] = rest ? outputs(rest) : [];
    expect([ok, output]).toEqual([true, expect.stringContaining('"name": "Ada"')]);
    for (const part of ['"email": "ada@example.org"', '"integer": 42', '"fish-1"', '"pet-1"', '"action": "accept"'])
      expect(output).toContain(part);
  });
});
