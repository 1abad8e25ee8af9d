import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { callApi, listConversations, type ListedMessage, messagesOf } from "../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { MODEL, openClient } from "./open-client.ts";

interface Message {
  role: "user" | "assistant";
  content: string;
}
type Recorded = Record<"story" | "chat", string> & { messages: Message[] };

/** What Open WebUI 0.12.4 sent while a person edited, answered again, corrected, stopped and went on in a browser. */
const RECORDED = readFileSync(new URL("../../fixtures/open-webui-branches.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Recorded);

const says = (content: string): Message => ({ role: "user", content });
const of = (messages: readonly Message[], role: Message["role"]): string[] =>
  messages.filter((message) => message.role === role).map(({ content }) => content);

describe("a front end that knows nothing of branches", () => {
  // Without summaries a prompt has every message.
  const running = useServiceWithModel({ ENABLE_SUMMARY: "false" });
  let number = 0;
  beforeEach(() => {
    running.model.answer(({ messages }) => {
      const [, echo] = /\[\[echo:(.*?)\]\]/.exec(messages.findLast(({ role }) => role === "user")?.content ?? "") ?? [];
      return { tokens: [echo ?? `answer ${++number}`] };
    });
  });

  async function send(messages: readonly Message[], user: string, headers: Record<string, string>): Promise<Message> {
    const client = openClient(running.url, { headers: { "X-User-Id": user, ...headers } });
    const { choices } = await client.chat.completions.create({ model: MODEL, messages: [...messages] });
    return { role: "assistant", content: choices[0]?.message.content ?? "" };
  }
  const contentsOf = async (user: string, session: string): Promise<string[]> =>
    (await messagesOf(running.url, user, session)).map(({ content }) => content);
  const prompt = () =>
    running.model.seen
      .at(-1)
      ?.body.messages.slice(1)
      .map(({ content }) => content);

  /** A client whose messages a person edits. */
  function talk(headers: Record<string, string> = {}) {
    const session = uuidv7();
    const named = { "X-Session-Id": session, ...headers };
    const client = {
      session,
      messages: [] as Message[],
      stored: () => contentsOf("ada", session),
      say,
      shown: () => client.messages.map(({ content }) => content),
    };
    async function say(
      content: string,
      { as = (all: Message[]) => all, ...more }: { as?: (all: Message[]) => Message[]; [header: string]: unknown } = {},
    ) {
      client.messages.push(says(content));
      client.messages.push(await send(as(client.messages), "ada", { ...named, ...(more as Record<string, string>) }));
    }
    return client;
  }
  async function five(headers: Record<string, string> = {}) {
    const client = talk(headers);
    for (const word of ["one", "two", "three", "four", "five"]) await client.say(word);
    return client;
  }
  const versionsOf = async (session: string) => {
    const [conversation] = (await listConversations(running.url, "ada")).filter(({ session_id }) => session_id === session);
    const address = `${running.url}/api/v1/conversations/${conversation?.id}/messages?limit=200`;
    const { json } = await callApi<{ messages: (ListedMessage & { versions?: { count: number } })[] }>(address);
    return json.messages.map(({ versions }) => versions?.count ?? 1);
  };

  test("is understood in each recorded story of Open WebUI, and the conversation has what its person sees", async () => {
    for (const { story, chat, messages } of RECORDED) {
      const before = await contentsOf("owu", chat);
      const answer = await send(messages, "owu", { "X-OpenWebUI-Chat-Id": chat });
      const stored = await messagesOf(running.url, "owu", chat);
      expect({ story, asked: of(stored, "user") }).toEqual({ story, asked: of(messages, "user") });
      const goesOn = story === "Continue Response";
      expect(stored.at(-1)?.content).toBe(goesOn ? `${before.at(-1)}${answer.content}` : answer.content);
    }
    // The correction of an answer by hand is what the person sees, and nothing that was said here.
    expect(await contentsOf("owu", "0e45d25d")).toContain("answer four");
  });

  test("can edit the third of five questions", async () => {
    const client = await five();
    client.messages.splice(4);
    await client.say("THREE");
    expect(await client.stored()).toEqual(client.shown());
    expect(prompt()).toEqual(client.shown().slice(0, -1));
    expect(await versionsOf(client.session)).toEqual([1, 1, 1, 1, 2, 1]);
    await client.say("and on");
    expect(await client.stored()).toEqual(client.shown());
  });

  test("can edit the first question after it has sent a history or named its chat", async () => {
    for (const headers of [{}, { "X-OpenWebUI-Chat-Id": "named" }]) {
      const client = await five(headers);
      client.messages.splice(0);
      await client.say("ONE");
      expect(await client.stored()).toEqual(client.shown());
      expect(prompt()).toEqual(["ONE"]);
    }
  });

  test("can repeat an answer twice, and then go on", async () => {
    const client = await five();
    for (const versions of [2, 3]) {
      client.messages.splice(8);
      await client.say("five");
      expect(await client.stored()).toEqual(client.shown());
      expect(prompt()).toEqual(client.shown().slice(0, -1));
      expect((await versionsOf(client.session)).slice(-2)).toEqual([1, versions]);
    }
    await client.say("six");
    expect(await client.stored()).toEqual(client.shown());
  });

  test("can repeat the answer to the only question of a chat", async () => {
    const client = talk();
    await client.say("only");
    client.messages.splice(0);
    await client.say("only");
    expect(await client.stored()).toEqual(client.shown());
    expect(await versionsOf(client.session)).toEqual([1, 2]);
  });

  test("may show a corrected answer, which is not stored and does not count as another place", async () => {
    const client = await five();
    const before = await client.stored();
    client.messages[3] = { role: "assistant", content: "what I wanted to read" };
    client.messages[9] = { role: "assistant", content: "this, too" };
    await client.say("six");
    expect((await client.stored()).slice(0, 10)).toEqual(before);
    expect(of(await messagesOf(running.url, "ada", client.session), "user")).toEqual(of(client.messages, "user"));
    expect(JSON.stringify(prompt())).not.toContain("wanted to read");
    client.messages.splice(10);
    await client.say("SIX");
    expect(of(await messagesOf(running.url, "ada", client.session), "user")).toEqual(of(client.messages, "user"));
  });

  test("can delete the last exchange and say something else", async () => {
    const client = await five();
    client.messages.splice(8);
    await client.say("something else");
    expect(await client.stored()).toEqual(client.shown());
  });

  test("can cut off old messages, and still go on, edit and repeat", async () => {
    const client = await five();
    const as = (all: Message[]) => all.slice(-4);
    await client.say("six", { as });
    expect(await client.stored()).toEqual(client.shown());
    client.messages.splice(10);
    await client.say("six", { as });
    expect(await client.stored()).toEqual(client.shown());
    client.messages.splice(8);
    await client.say("FIVE", { as: (all) => all.slice(-3) });
    expect(await client.stored()).toEqual(client.shown());
  });

  test("can have two chats that begin alike, which differ by their names", async () => {
    const [one, other] = [talk(), talk()];
    for (const client of [one, other]) await client.say("Good morning");
    await one.say("mine");
    await other.say("yours");
    other.messages.splice(2);
    await other.say("YOURS");
    for (const client of [one, other]) expect(await client.stored()).toEqual(client.shown());
  });

  test("may send only its last message, which is then never taken for an edit", async () => {
    const client = talk();
    const as = (all: Message[]) => all.slice(-1);
    for (const word of ["yes", "and?", "yes", "yes", "and?"]) await client.say(word, { as });
    expect(await client.stored()).toEqual(client.shown());
    expect(await versionsOf(client.session)).toEqual(Array.from({ length: 10 }, () => 1));
  });

  test("may send back code and tables with other line ends and in another form", async () => {
    const code = "Look:\n\n```js\nif (a < b) {\n  c();\n}\n```";
    const table = "| a | b |\n| --- | --- |\n| 1 | **2** |";
    running.model.answer({ tokens: [table] });
    const client = talk();
    for (const word of [code, "two", "three"]) await client.say(word);
    const before = await client.stored();
    const form = (text: string) => text.replaceAll("---", "-----").replaceAll("**2**", "__2__").replaceAll("\n", "\r\n");
    client.messages = client.messages.map(({ role, content }) => ({ role, content: form(content) }));
    await client.say("four");
    expect((await client.stored()).slice(0, 6)).toEqual(before);
    client.messages.splice(2);
    await client.say("TWO");
    expect(await client.stored()).toEqual([code, table, "TWO", table]);
  });

  test("gets no branches with X-Branching: off", async () => {
    const client = await five();
    const before = await client.stored();
    client.messages.splice(4);
    await client.say("THREE", { "X-Branching": "off" });
    expect(await client.stored()).toEqual([...before, ...client.shown().slice(-2)]);
  });

  test("edits only once with an Idempotency-Key", async () => {
    const client = await five();
    client.messages.splice(4);
    const headers = { "X-Session-Id": client.session, "Idempotency-Key": uuidv7() };
    const messages = [...client.messages, says("THREE")];
    const answer = await send(messages, "ada", headers);
    expect(await send(messages, "ada", headers)).toEqual(answer);
    expect(await client.stored()).toEqual([...messages, answer].map(({ content }) => content));
    expect((await versionsOf(client.session)).at(4)).toBe(2);
  });

  test("may send the history as items of a response, too", async () => {
    const responses = openClient(running.url, { headers: { "X-User-Id": "items", "X-Session-Id": "items" } }).responses;
    const input: Message[] = [];
    const say = async (content: string) => {
      input.push(says(content));
      input.push({ role: "assistant", content: (await responses.create({ model: MODEL, input: [...input] })).output_text });
    };
    for (const word of ["one", "two", "three"]) await say(word);
    input.splice(2);
    await say("TWO");
    expect(await contentsOf("items", "items")).toEqual(input.map(({ content }) => content));
  });

  test("can name an earlier response, and goes on after it on a branch of its own", async () => {
    const { responses } = openClient(running.url, { headers: { "X-User-Id": "behind" } });
    const first = await responses.create({ model: MODEL, input: "one" });
    const second = await responses.create({ model: MODEL, input: "two", previous_response_id: first.id });
    await responses.create({ model: MODEL, input: "three", previous_response_id: second.id });
    const other = await responses.create({ model: MODEL, input: "TWO", previous_response_id: first.id });
    const [conversation] = await listConversations(running.url, "behind");
    const stored = () => contentsOf("behind", conversation?.session_id ?? "");
    expect(await stored()).toEqual(["one", first.output_text, "TWO", other.output_text]);
    // Also behind one that is on no active path.
    const back = await responses.create({ model: MODEL, input: "THREE", previous_response_id: second.id });
    expect(await stored()).toEqual(["one", first.output_text, "two", second.output_text, "THREE", back.output_text]);
  });
});
