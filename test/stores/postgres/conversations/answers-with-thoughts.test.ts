import { beforeEach, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { OwnedConversation, Owner } from "../../../../turn/owner.ts";
import { toExchanges } from "../../../../stores/postgres/conversations/exchanges.ts";
import { makeTitleStore } from "../../../../stores/postgres/conversations/title-store.ts";
import { makeWindowStore } from "../../../../stores/postgres/turns/window-store.ts";
import { estimateTokens } from "../../../../text/tokens.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { sampleSummary } from "../../../support/databases/stored-conversation.ts";
import { readNext } from "../../../support/samples/sample-reading.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";

const TAGGED = "<think>The user lives in Linz.</think>\n\nHello!";
const EMPTY = "<think>The user lives in Linz.</think>\n\n";
const TURNS = [
  ["one", TAGGED],
  ["two", EMPTY],
  ["three", "Fine."],
] as const;
/** What the conversation says. */
const SAID = ["one", "Hello!", "two", "", "three", "Fine."];

describeStores("answers that were stored with thoughts in them", ({ database, ...stores }) => {
  let owner: Owner;
  let conversation: OwnedConversation;
  beforeEach(async () => {
    owner = { tenantId: "tenant", userId: uuidv7() };
    for (const [message, content] of TURNS) {
      const turn = { ...owner, sessionId: "s", message };
      const { conversationId } = await stores.complete(turn, sampleAnswer({ content, tokenCount: 99 }));
      conversation = { ...owner, conversationId };
    }
  });

  const bring = (...messages: readonly (readonly ["user" | "assistant", string])[]) =>
    stores.imports.import({
      ...owner,
      sessionId: "imported",
      jobKinds: [],
      messages: messages.map(([role, content], index) => ({ role, content, createdAt: new Date(1e12 + index * 60_000), metadata: {} })),
    });
  const contents = (messages: readonly { content: string }[]): string[] => messages.map(({ content }) => content);

  test("are in the window, in each of its parts, and before a summary without them, and count as what is left", async () => {
    const windows = makeWindowStore(database);
    const request = { ...conversation, exceptMessageId: uuidv7(), atLeast: 6, maxTokens: 1_000_000, useSummary: true };
    const { messages } = await windows.load(request);
    expect(contents(messages)).toEqual(SAID);
    expect(messages[1]?.tokenCount).toBe(estimateTokens("Hello!"));
    const [last] = messages.slice(-1);
    expect(last?.tokenCount).toBe(99);
    const { messages: backlog } = await stores.summaries.readBacklog(conversation, 10);
    expect(contents(backlog)).toEqual(SAID);
    expect(backlog[1]?.tokenCount).toBe(estimateTokens("Hello!"));

    const turns = Array.from({ length: 250 }, (): ["user" | "assistant", string][] => [
      ["user", "asked"],
      ["assistant", TAGGED],
    ]);
    const { conversationId } = await bring(...turns.flat());
    const long = await windows.load({ ...request, conversationId });
    expect(long.messages).toHaveLength(500);
    expect(new Set(contents(long.messages))).toEqual(new Set(["asked", "Hello!"]));
  });

  test("begin a turn that reads the window with its begin without them", async () => {
    const turn = { ...owner, sessionId: "s", message: "four", turnId: uuidv7(), leaseMs: 1_000, tokenCount: 1 };
    const begun = await stores.turns.begin(turn, { atLeast: 6, useSummary: true });
    expect(begun?.newest?.messages).toHaveLength(SAID.length);
    const request = { ...conversation, exceptMessageId: begun?.messageId ?? "", atLeast: 6, maxTokens: 1_000_000, useSummary: true };
    const { messages } = await makeWindowStore(database).load(request, begun?.newest ?? undefined);
    expect(contents(messages)).toEqual(SAID);
  });

  test("are read by the memory agent and the index without them, turns and imports", async () => {
    const unread = await readNext(stores.unread, owner);
    const said = (read: typeof unread.messages) => toExchanges(read).map(({ asked, answer }) => [asked?.content, answer?.content]);
    expect(said(unread.messages)).toEqual([
      ["one", "Hello!"],
      ["two", ""],
      ["three", "Fine."],
    ]);
    expect((await stores.episodes.readBacklog(conversation, "index", 10)).messages).toEqual(unread.messages);
    const { conversationId } = await bring(["user", TAGGED], ["assistant", TAGGED], ["assistant", TAGGED]);
    const { messages } = await stores.episodes.readBacklog({ ...owner, conversationId }, "index", 10);
    expect(said(messages)).toEqual([
      [TAGGED, "Hello!"],
      [undefined, "Hello!"],
    ]);
  });

  test("are recalled, stand beside what is recalled and are found without them; one that says nothing alone is not recalled", async () => {
    const ids = (await stores.messagesOf(conversation)).map(({ id }) => id);
    const pairs = [0, 2, 4].map((place) => [ids[place] ?? "", ids[place + 1] ?? ""] as const);
    const recalled = (await stores.episodes.load(owner, pairs)).toSorted((one, other) => (one.id < other.id ? -1 : 1));
    expect(recalled.map(({ userMessage, assistantMessage }) => [userMessage, assistantMessage])).toEqual([
      ["one", "Hello!"],
      ["two", ""],
      ["three", "Fine."],
    ]);
    expect(recalled.map(({ before, after }) => [contents(before), contents(after)])).toEqual([
      [[], ["two", ""]],
      [
        ["one", "Hello!"],
        ["three", "Fine."],
      ],
      [["two", ""], []],
    ]);
    const found = await stores.messages.findExchanges(owner, pairs);
    expect([...found.values()].flat().map(({ message }) => message.content)).toEqual(expect.arrayContaining(SAID));
    expect(JSON.stringify([...found.values()])).not.toContain("Linz");
    const { messageIds } = await bring(["assistant", TAGGED], ["assistant", EMPTY]);
    const alone = await stores.episodes.load(
      owner,
      messageIds.map((id) => [id, id] as const),
    );
    expect(alone.map(({ assistantMessage }) => assistantMessage)).toEqual(["Hello!"]);
  });

  test("are listed as they are stored", async () => {
    expect(await stores.contentsOf(conversation)).toEqual(["one", TAGGED, "two", EMPTY, "three", "Fine."]);
  });

  test("give a title without them", async () => {
    const titles = makeTitleStore(database);
    expect(await titles.findUntitled(conversation)).toMatchObject({ question: "one", answer: "Hello!" });
    const other = await stores.complete({ ...owner, sessionId: "other" }, sampleAnswer({ content: EMPTY }));
    expect(await titles.findUntitled(other)).toMatchObject({ question: "a question", answer: null });
  });

  test.each([
    ["as it is stored", TAGGED, true, TAGGED, "Hello!"],
    ["as it is shown now", TAGGED, true, "Hello!", "Hello!"],
    ["with another thought", TAGGED, true, "<think>Linz?</think>Hello!", "Hello!"],
    ["that was stopped, by its beginning", TAGGED, false, "Hel", "Hel"],
    ["that was stopped, by its beginning with the thought", TAGGED, false, TAGGED.slice(0, -3), "Hel"],
    ["that was stopped in its thought", "<think>The user lives", false, "<think>The user", ""],
  ])("are continued without them: %s", async (_how, content, completed, continues, text) => {
    const turn = { ...owner, sessionId: "continued" };
    const first = await stores.complete(turn, sampleAnswer({ content, completed }));
    const held = await stores.begin({ ...first, turnId: uuidv7(), continues });
    expect(held.continued).toMatchObject({ text });
    const grown = sampleAnswer({ messageId: held.continued?.answerId ?? "", userMessageId: held.messageId, grows: true });
    await stores.turns.finish(held, { ...grown, content: `${text} there` });
    expect(await stores.contentsOf(first)).toEqual(["a question", `${text} there`]);
  });

  test("have left summaries that begin with a thought, which are read without it in every version", async () => {
    const [, answer] = await stores.messagesOf(conversation);
    const place = { id: answer?.id ?? "", createdAt: answer?.createdAt ?? new Date(0) };
    const text = "<think>What did they say?</think>\n\nThey met.";
    expect(await stores.summaries.save(conversation, sampleSummary(place, { text, addedMessageCount: 2 }))).toBe(true);
    const said = { text: "They met.", version: 1, coveredMessageCount: 2, coveredThrough: place };
    expect(await stores.summaries.find(conversation)).toMatchObject(said);
    expect(await stores.summaries.findVersion(conversation, 1)).toMatchObject(said);
    expect((await stores.summaries.readBacklog(conversation, 10)).summary).toMatchObject(said);
    const request = { ...conversation, exceptMessageId: uuidv7(), atLeast: 1, maxTokens: 1_000, useSummary: true };
    expect((await makeWindowStore(database).load(request)).summary).toMatchObject(said);
  });
});
