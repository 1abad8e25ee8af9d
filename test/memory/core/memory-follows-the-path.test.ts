import { expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { episodeIdOf, toExchanges } from "../../../stores/postgres/conversations/exchanges.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { describeStores } from "../../support/databases/describe-stores.ts";
import { readingAgent } from "../../support/samples/reading-agent.ts";
import { sampleAnswer } from "../../support/samples/sample-turns.ts";

describeStores("memory follows the path", ({ database, branches, complete, begin, coreMemory, episodes, operations, summaries, turns }) => {
  const of = ({ tenantId, userId, conversationId }: OwnedConversation): OwnedConversation => ({ tenantId, userId, conversationId });

  /** A user whose memory agent goes by rules, and all that core memory says of it. */
  function person() {
    const agent = readingAgent(database);
    const session = { ...agent.owner, sessionId: uuidv7() };
    const say = (message: string, fields: object = {}) => complete({ ...session, message, ...fields });
    const facts = async (): Promise<string> => (await coreMemory.load(agent.owner)).sections.map(({ content }) => content).join("\n");
    return { ...agent, session, say, facts };
  }

  test("a fact that rests only on an edited message goes, the new one comes, and a switch brings the first one back", async () => {
    const { owner, say, facts, ...agent } = person();
    const first = await say("My name is Ada.");
    const second = await say("I live in Lisbon.");
    await agent.readAll();
    expect(await facts()).toMatch(/Ada[^]*Lisbon|Lisbon[^]*Ada/);
    await say("I live in Porto.", { editOf: second.messageId });
    await agent.readAll();
    expect(await facts()).toMatch(/Porto/);
    expect(await facts()).toMatch(/Ada/);
    expect(await facts()).not.toMatch(/Lisbon/);
    const { items } = await operations.list(owner, { limit: 50, after: null });
    expect(items.filter(({ reason }) => reason === "edited")).toMatchObject([{ operation: "core_update", actor: "agent" }]);
    await branches.activate(of(second), first.conversationId);
    await agent.readAll();
    expect(await facts()).toMatch(/Lisbon/);
    expect(await facts()).not.toMatch(/Porto/);
  });

  test("a fact stays when another message of the path tells it, too", async () => {
    const { say, facts, ...agent } = person();
    const first = await say("I live in Lisbon.");
    await say("I live in Lisbon.", { sessionId: uuidv7() });
    await agent.readAll();
    await say("What is the time?", { editOf: first.messageId });
    await agent.readAll();
    expect(await facts()).toMatch(/Lisbon/);
  });

  test("an answer that is given again changes no fact of its question", async () => {
    const { owner, say, session, facts, ...agent } = person();
    const answer = sampleAnswer();
    const turn = await begin({ ...session, message: "I live in Lisbon." });
    await turns.finish(turn, { ...answer, userMessageId: turn.messageId });
    await agent.readAll();
    const before = await facts();
    await say("", { regenerate: answer.messageId });
    await agent.readAll();
    expect(await facts()).toBe(before);
    const { items } = await operations.list(owner, { limit: 50, after: null });
    expect(items.filter(({ reason }) => reason === "edited")).toEqual([]);
  });

  test("what a person wrote stays, whatever is edited", async () => {
    const { owner, say, facts, ...agent } = person();
    const first = await say("I live in Lisbon.");
    await agent.readAll();
    await coreMemory.put(owner, { section: "goals", content: "To see every tram." });
    await say("I like tea.", { editOf: first.messageId });
    await agent.readAll();
    expect(await facts()).toContain("To see every tram.");
  });

  test("an exchange is loaded while it lies on the path, with the path's answer and without a neighbour beside it", async () => {
    const { session, say, owner } = person();
    await say("Before.");
    const answers = [sampleAnswer({ content: "first" }), sampleAnswer({ content: "second" })] as const;
    const turn = await begin({ ...session, message: "Which?" });
    await turns.finish(turn, { ...answers[0], userMessageId: turn.messageId });
    const again = await begin({ ...session, regenerate: answers[0].messageId });
    await turns.finish(again, { ...answers[1], userMessageId: turn.messageId });
    await say("After.");
    const { messages } = await episodes.readBacklog(of(turn), "none", 50);
    const ids = toExchanges(messages).map((exchange) => [episodeIdOf(exchange), exchange.answer?.id ?? ""] as const);
    expect(new Set(ids.map(([id]) => id)).size).toBe(4);
    const loaded = async () =>
      (await episodes.load(owner, ids)).map(({ userMessage, assistantMessage }) => `${userMessage} ${assistantMessage}`).toSorted();
    expect(await loaded()).toEqual(["After. an answer", "Before. an answer", "Which? second"]);
    const besides = (await episodes.load(owner, ids)).flatMap(({ before, after }) => [...before, ...after]).map(({ content }) => content);
    expect(besides).not.toContain("first");
    await branches.activate(of(turn), turn.conversationId);
    expect(await loaded()).toEqual(["Before. an answer", "Which? first"]);
  });

  test("a branch begins with the newest kept summary that covers nothing after its fork, and a switch restores the old one", async () => {
    const { say } = person();
    const said: Awaited<ReturnType<typeof say>>[] = [];
    for (let number = 1; number <= 4; number++) said.push(await say(`question ${number}`));
    const owned = of(said[0] ?? (await say("none")));
    async function summarise(count: number, text: string): Promise<boolean> {
      const { summary, messages, rewrites } = await summaries.readBacklog(owned, 100);
      const last = messages[count - 1];
      if (!last) throw new Error("there is nothing to summarise");
      const coveredThrough = { createdAt: last.createdAt, id: last.id };
      return summaries.save(owned, {
        readVersion: summary?.version ?? 0,
        text,
        tokenCount: 1,
        coveredThrough,
        addedMessageCount: count,
        rewrites,
      });
    }
    expect(await summarise(2, "one")).toBe(true);
    expect(await summarise(4, "one to three")).toBe(true);
    await say("another second", { editOf: said[1]?.messageId });
    expect(await summaries.find(owned)).toMatchObject({ text: "one", version: 1, coveredMessageCount: 2 });
    expect(await summarise(2, "one and another second")).toBe(true);
    expect(await summaries.find(owned)).toMatchObject({ version: 3 });
    await branches.activate(owned, owned.conversationId);
    expect(await summaries.find(owned)).toMatchObject({ text: "one to three", version: 2, coveredMessageCount: 6 });
    await say("another first", { editOf: said[0]?.messageId });
    expect(await summaries.find(owned)).toBeNull();
    const { messages, summary } = await summaries.readBacklog(owned, 100);
    expect(summary).toMatchObject({ text: "", version: 4, coveredMessageCount: 0 });
    expect(messages.map(({ content }) => content)).toEqual(["another first", "an answer"]);
  });

  test("a summary of shared messages fits all branches, and a switch that changes nothing leaves it alone", async () => {
    const { say } = person();
    const first = await say("question 1");
    const second = await say("question 2");
    async function summarise(count: number): Promise<void> {
      const { summary, messages, rewrites } = await summaries.readBacklog(of(first), 100);
      const last = messages[count - 1];
      const coveredThrough = { createdAt: last?.createdAt ?? new Date(0), id: last?.id ?? "" };
      const made = { readVersion: summary?.version ?? 0, text: `to ${last?.content}`, tokenCount: 1, addedMessageCount: count, rewrites };
      expect(await summaries.save(of(first), { ...made, coveredThrough })).toBe(true);
    }
    const textNow = async () => (await summaries.find(of(first)))?.text;
    await say("another second", { editOf: second.messageId });
    await summarise(1);
    await branches.activate(of(first), first.conversationId);
    expect(await textNow()).toBe("to question 1");
    await summarise(3);
    expect(await textNow()).toBe("to an answer");
    const [, edited] = await branches.list(of(first));
    await branches.activate(of(first), edited?.id ?? "");
    await branches.activate(of(first), edited?.id ?? "");
    await expect(branches.activate({ ...of(first), userId: "eve" }, first.conversationId)).rejects.toMatchObject({ code: "not_found" });
    expect(await textNow()).toBe("to question 1");
  });

  test("a summary in the making is not saved on another path", async () => {
    const { say } = person();
    const first = await say("question 1");
    const second = await say("question 2");
    const { messages, rewrites } = await summaries.readBacklog(of(first), 100);
    const last = messages[3];
    await say("another second", { editOf: second.messageId });
    const made = { readVersion: 0, text: "of the old path", tokenCount: 1, addedMessageCount: 4, rewrites };
    const coveredThrough = { createdAt: last?.createdAt ?? new Date(0), id: last?.id ?? "" };
    expect(await summaries.save(of(first), { ...made, coveredThrough })).toBe(false);
    expect(await summaries.find(of(first))).toBeNull();
  });
});
