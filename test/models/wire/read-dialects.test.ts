import { describe, expect, test } from "@jest/globals";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { useOpened } from "../../support/use-opened.ts";
import { askModel } from "./ask-dialect.ts";
import { type Dialect, expectedOf, REPLIES, repliesOf, type ReplyName } from "./dialect.ts";
import { startDialectServer } from "./dialect-server.ts";
import { dialectNamed, DIALECTS } from "./dialects.ts";

const server = useOpened(startDialectServer);

const modelFor = (dialect: Dialect, reply: ReplyName) =>
  createOpenAIChatModel({ model: "m", apiKey: "a key", baseUrl: server.addressOf(dialect, reply) });

const REPLIES_IN_WORDS: Readonly<Record<ReplyName, string>> = { words: "words", calls: "calls", both: "words and calls" };
const SPOKEN = DIALECTS.flatMap((dialect) =>
  repliesOf(dialect).map((reply) => ({ ...dialect, dialect, reply, said: REPLIES_IN_WORDS[reply] })),
);

describe("the chat model understands", () => {
  test.each(SPOKEN)("$said in the dialect “$name” of $servers", async ({ dialect, reply }) => {
    const { streamed, ids, ...read } = await askModel(modelFor(dialect, reply));
    expect(read).toEqual(expectedOf(dialect, REPLIES[reply]));
    expect(new Set(ids.filter(Boolean)).size).toBe(read.calls.length);
    if (dialect.tags?.[0] !== "") expect(streamed).toBe(read.text);
  });
});

describe("a model whose thoughts have no opening tag", () => {
  const dialect = dialectNamed("a closing tag alone");

  test("takes back what it said of them the first time, and says nothing of them the next time", async () => {
    const model = modelFor(dialect, "words");
    const { text, thoughts } = REPLIES.words;
    const [first, second] = [await askModel(model), await askModel(model)];
    expect([first.text, first.thoughts, second.text, second.thoughts]).toEqual([text, thoughts, text, thoughts]);
    expect(first.streamed).toContain("Zwielicht");
    expect(second.streamed).toBe(text);
  });
});

test("every dialect has a name of its own, and says who speaks it", () => {
  const names = DIALECTS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(DIALECTS.filter(({ servers }) => servers.trim() === "")).toEqual([]);
});
