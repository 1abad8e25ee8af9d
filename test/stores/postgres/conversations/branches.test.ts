import { describe, expect, test, jest } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { OwnedConversation } from "../../../../turn/owner.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";
import fc from "fast-check";
import { treeExpectations } from "./expect-tree.ts";
import { makeGrower, step, stepOrErase } from "./grow-tree.ts";

const ALL = { limit: 200, after: null };
describeStores("branches", (stores) => {
  const { messages, branches, begin, complete, conversations } = stores;

  async function idsOf(conversation: OwnedConversation, path?: string | null): Promise<string[]> {
    return (await messages.list(conversation, ALL, "oldest_first", path)).items.map(({ id }) => id);
  }

  test("an edited question leaves before it, also before the first one, and the old words are a switch away", async () => {
    const session = { sessionId: uuidv7() };
    const first = await complete({ ...session, message: "one" });
    const second = await complete({ ...session, message: "two" });
    const owned = { tenantId: first.tenantId, userId: first.userId, conversationId: first.conversationId };
    await complete({ ...session, message: "another two", editOf: second.messageId });
    expect(await stores.contentsOf(owned)).toEqual(["one", "an answer", "another two", "an answer"]);
    await complete({ ...session, message: "another one", editOf: first.messageId });
    expect(await stores.contentsOf(owned)).toEqual(["another one", "an answer"]);
    expect(await conversations.show(owned, owned.conversationId)).toMatchObject({ firstAsked: "another one", messageCount: 2 });
    await branches.activate(owned, owned.conversationId);
    expect(await stores.contentsOf(owned)).toEqual(["one", "an answer", "two", "an answer"]);
  });

  test("ten versions of one message stand side by side, oldest first", async () => {
    const session = { sessionId: uuidv7() };
    const first = await complete({ ...session });
    const owned = { tenantId: first.tenantId, userId: first.userId, conversationId: first.conversationId };
    const ids = [first.messageId];
    for (let version = 1; version < 10; version++) ids.push((await complete({ ...session, editOf: ids.at(-1) ?? null })).messageId);
    const { items } = await messages.list(owned, ALL);
    expect(items[0]?.versions).toEqual({ index: 9, count: 10, messageIds: ids });
    expect(items).toHaveLength(2);
  });

  test("beyond 64 on a path are refused, and nothing is stored", async () => {
    const session = { sessionId: uuidv7() };
    let last = await complete(session);
    const owned = { tenantId: last.tenantId, userId: last.userId, conversationId: last.conversationId };
    for (let depth = 1; depth < 64; depth++) {
      const next = await complete(session);
      last = await complete({ ...session, editOf: next.messageId });
    }
    const next = await complete(session);
    const before = await idsOf(owned);
    await expect(begin({ ...session, editOf: next.messageId })).rejects.toMatchObject({ code: "invalid_request" });
    expect(await idsOf(owned)).toEqual(before);
    await complete({ ...session, editOf: last.messageId });
  });

  describe("refuse", () => {
    const wrong = "00000000-0000-4000-8000-000000000000";
    test.each([
      ["an edit of an answer", (said: Said) => ({ editOf: said.answerId }), "invalid_request"],
      ["another answer to a question's id", (said: Said) => ({ regenerate: said.userMessageId }), "invalid_request"],
      ["a message that is not there", () => ({ editOf: wrong }), "not_found"],
      ["an answer that is not there", () => ({ regenerate: wrong }), "not_found"],
      ["a message of another conversation", (said: Said) => ({ editOf: said.elsewhere }), "not_found"],
      ["a message of another user", (said: Said) => ({ editOf: said.userMessageId, userId: "eve" }), "not_found"],
      ["a message of another tenant", (said: Said) => ({ editOf: said.userMessageId, tenantId: "other" }), "not_found"],
    ])("%s", async (_what, fields, code) => {
      const answered = sampleAnswer();
      const said = await complete({}, answered);
      const owned = { tenantId: said.tenantId, userId: said.userId, conversationId: said.conversationId };
      const elsewhere = (await complete()).messageId;
      const given = fields({ userMessageId: said.messageId, answerId: answered.messageId, elsewhere });
      await expect(begin({ sessionId: said.sessionId, ...given })).rejects.toMatchObject({ code });
      expect(await branches.list(owned)).toHaveLength(1);
    });

    test("to switch to a branch of another conversation, and while a turn runs", async () => {
      const said = await complete();
      const owned = { tenantId: said.tenantId, userId: said.userId, conversationId: said.conversationId };
      const other = await complete();
      await complete({ sessionId: other.sessionId, editOf: other.messageId });
      for (const id of [other.conversationId, wrong])
        await expect(branches.activate(owned, id)).rejects.toMatchObject({ code: "not_found" });
      await expect(branches.activate({ ...owned, userId: "eve" }, owned.conversationId)).rejects.toMatchObject({ code: "not_found" });
      await begin({ sessionId: said.sessionId, editOf: said.messageId });
      await expect(branches.activate(owned, owned.conversationId)).rejects.toMatchObject({ code: "conversation_busy" });
    });
  });
});
interface Said {
  userMessageId: string;
  answerId: string;
  elsewhere: string;
}

describe("as in a tree of versions", () => {
  const RUNS = Number(process.env["TREE_RUNS"] ?? 20);
  jest.setTimeout(60_000 + RUNS * 5_000);
  describeStores("branches and a tree", (stores) => {
    const agree = (steps: typeof step, minLength: number) =>
      fc.assert(
        fc.asyncProperty(fc.array(steps, { minLength, maxLength: 16 }), async (all) => {
          const { tree, owner, doStep, readFacts } = makeGrower(stores);
          for (const one of all) await doStep(one);
          const expectSame = treeExpectations(stores, tree, owner);
          for (const talk of tree.talks) {
            await expectSame.paths(talk);
            await expectSame.summary(talk, talk.cover);
          }
          await expectSame.exchanges();
          await expectSame.facts(await readFacts());
        }),
        { numRuns: RUNS },
      );

    test("agree in paths, versions, windows, cover points, exchanges and facts, whatever is said, taken back, switched to, forked, imported, restored and summarised", () =>
      agree(step, 1));

    test("agree in them when exchanges and conversations are erased, too", () => agree(stepOrErase, 3));
  });
});
