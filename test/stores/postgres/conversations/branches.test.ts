import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import type { OwnedConversation } from "../../../../stores/owner.ts";
import { makeWindowStore } from "../../../../stores/postgres/conversations/window-store.ts";
import { describeStores, type Stores } from "../../../support/databases/describe-stores.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";

const ALL = { limit: 200, after: null };

type Step = { do: "turn"; answer: Answer } | { do: "edit" | "regenerate"; at: number; answer: Answer } | { do: "switch"; at: number };
type Answer = "whole" | "cut" | "none";

const answer = fc.constantFrom<Answer>("whole", "whole", "cut", "none");
const at = fc.nat(99);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("turn" as const), answer }),
  fc.record({ do: fc.constantFrom("edit" as const, "regenerate" as const), at, answer }),
  fc.record({ do: fc.constant("switch" as const), at }),
);

interface TreeMessage {
  id: string;
  role: "user" | "assistant";
  isWhole: boolean;
  parent: TreeMessage | null;
}

/** A conversation as a plain tree. */
class Tree {
  messages: TreeMessage[] = [];
  branches: { id: string; head: TreeMessage | null }[] = [];
  active = 0;

  path(branch: number): TreeMessage[] {
    const path: TreeMessage[] = [];
    for (let message = this.branches[branch]?.head ?? null; message; message = message.parent) path.unshift(message);
    return path;
  }

  add(id: string, role: TreeMessage["role"], isWhole = true): void {
    const branch = this.branches[this.active];
    if (!branch) throw new Error("there is no branch");
    branch.head = { id, role, isWhole, parent: branch.head };
    this.messages.push(branch.head);
  }

  versions(of: TreeMessage) {
    const messageIds = this.messages.filter(({ parent, role }) => parent === of.parent && role === of.role).map(({ id }) => id);
    return messageIds.length > 1 ? { index: messageIds.indexOf(of.id), count: messageIds.length, messageIds } : undefined;
  }
}

/** Does the steps with the service and in a tree. */
async function grow({ begin, turns, branches }: Stores, steps: readonly Step[]) {
  const tree = new Tree();
  const owner = { tenantId: "tenant", userId: uuidv7(), sessionId: uuidv7() };
  let conversation: OwnedConversation | undefined;

  async function turn(fields: { editOf?: string; regenerate?: string }, given: Answer): Promise<void> {
    const begun = await begin({ ...owner, message: `question ${tree.messages.length}`, ...fields });
    conversation ??= { tenantId: owner.tenantId, userId: owner.userId, conversationId: begun.conversationId };
    if (tree.branches.length === 0) tree.branches.push({ id: begun.conversationId, head: null });
    if (fields.editOf ?? fields.regenerate) {
      const from = tree.messages.find(({ id }) => id === (fields.editOf ?? fields.regenerate));
      let head = from?.parent ?? null;
      if (fields.regenerate) while (head && head.role !== "user") head = head.parent;
      const listed = await branches.list(conversation);
      const added = listed.find(({ id }) => !tree.branches.some((known) => known.id === id));
      tree.active = tree.branches.push({ id: added?.id ?? "", head }) - 1;
    }
    if (!fields.regenerate) tree.add(begun.messageId, "user");
    const answered = given === "none" ? null : sampleAnswer({ completed: given === "whole", content: `answer ${tree.messages.length}` });
    expect(await turns.finish(begun, answered && { ...answered, questionId: begun.messageId })).toBe("stored");
    if (answered) tree.add(answered.messageId, "assistant", given === "whole");
  }

  for (const one of steps) {
    if (one.do === "turn" || !conversation) {
      await turn({}, "answer" in one ? one.answer : "whole");
      continue;
    }
    if (one.do === "switch") {
      tree.active = one.at % tree.branches.length;
      await branches.activate(conversation, tree.branches[tree.active]?.id ?? "");
      continue;
    }
    const role = one.do === "edit" ? "user" : "assistant";
    const choices = tree.messages.filter((message) => message.role === role);
    const id = choices[one.at % choices.length]?.id;
    if (id !== undefined) await turn(one.do === "edit" ? { editOf: id } : { regenerate: id }, one.answer);
  }
  return { tree, conversation };
}

describeStores("branches", (stores) => {
  const { database, messages, branches, begin, complete, conversations } = stores;
  const windows = makeWindowStore(database);

  async function idsOf(conversation: OwnedConversation, path?: string | null): Promise<string[]> {
    return (await messages.list(conversation, ALL, "oldest_first", path)).items.map(({ id }) => id);
  }

  test("are what a plain tree of messages says, whatever is said, edited, answered again and switched to", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
        const { tree, conversation } = await grow(stores, steps);
        if (!conversation) return;
        const listed = await branches.list(conversation);
        expect(listed.map(({ id }) => id)).toEqual(tree.branches.map(({ id }) => id));
        for (const [number, { id }] of tree.branches.entries()) {
          const path = tree.path(number);
          const { items } = await messages.list(conversation, ALL, "oldest_first", await branches.findPath(conversation, id));
          const expected = path.map((message) => ({ id: message.id, versions: tree.versions(message) }));
          expect(items.map((message) => ({ id: message.id, versions: message.versions }))).toEqual(expected);
          expect(listed[number]).toMatchObject({ messageCount: path.length, isActive: number === tree.active });
        }
        const path = tree.path(tree.active);
        expect(await idsOf(conversation)).toEqual(path.map(({ id }) => id));
        const backwards = await messages.list(conversation, ALL, "newest_first");
        expect(backwards.items.map(({ id }) => id)).toEqual(path.map(({ id }) => id).toReversed());
        const window = { ...conversation, exceptMessageId: uuidv7(), atLeast: 6, maxTokens: 1_000_000, useSummary: true };
        expect((await windows.load(window)).messages.map(({ id }) => id)).toEqual(
          path.filter(({ isWhole }) => isWhole).map(({ id }) => id),
        );
        expect(await conversations.find({ ...conversation }, conversation.conversationId)).toMatchObject({ messageCount: path.length });
      }),
      { numRuns: 25, seed: 28 },
    );
  });

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
    for (let version = 1; version < 10; version++) ids.push((await complete({ ...session, editOf: ids.at(-1) })).messageId);
    const { items } = await messages.list(owned, ALL);
    expect(items[0]?.versions).toEqual({ index: 9, count: 10, messageIds: ids });
    expect(items).toHaveLength(2);
  });

  test("one more than 64 on a path are refused, and nothing is stored", async () => {
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
  }, 30_000);

  describe("refuse", () => {
    const wrong = "00000000-0000-4000-8000-000000000000";
    test.each([
      ["an edit of an answer", (said: Said) => ({ editOf: said.answerId }), "invalid_request"],
      ["another answer to a question's id", (said: Said) => ({ regenerate: said.questionId }), "invalid_request"],
      ["a message that is not there", () => ({ editOf: wrong }), "not_found"],
      ["an answer that is not there", () => ({ regenerate: wrong }), "not_found"],
      ["a message of another conversation", (said: Said) => ({ editOf: said.elsewhere }), "not_found"],
      ["a message of another user", (said: Said) => ({ editOf: said.questionId, userId: "eve" }), "not_found"],
      ["a message of another tenant", (said: Said) => ({ editOf: said.questionId, tenantId: "other" }), "not_found"],
    ])("%s", async (_what, fields, code) => {
      const answered = sampleAnswer();
      const said = await complete({}, answered);
      const owned = { tenantId: said.tenantId, userId: said.userId, conversationId: said.conversationId };
      const elsewhere = (await complete()).messageId;
      const given = fields({ questionId: said.messageId, answerId: answered.messageId, elsewhere });
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
  questionId: string;
  answerId: string;
  elsewhere: string;
}
