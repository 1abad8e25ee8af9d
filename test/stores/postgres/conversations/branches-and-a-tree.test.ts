import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import type { OwnedConversation } from "../../../../stores/owner.ts";
import { makeSnapshotStore } from "../../../../stores/postgres/conversations/snapshot-store.ts";
import { makeWindowStore } from "../../../../stores/postgres/conversations/window-store.ts";
import { describeStores, type Stores } from "../../../support/databases/describe-stores.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";

const ALL = { limit: 200, after: null };

type Answer = "whole" | "cut" | "none";
const WAYS = ["editOf", "regenerate", "behind", "again"] as const;
type Way = (typeof WAYS)[number];
type Step =
  | { do: "turn"; answer: Answer }
  | { do: Way; at: number; answer: Answer }
  | { do: "switch" | "snapshot" | "restore" | "summarise" | "erase"; at: number };

const answer = fc.constantFrom<Answer>("whole", "whole", "cut", "none");
const at = fc.nat(99);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("turn" as const), answer }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom(...WAYS), at, answer }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom("switch" as const, "snapshot" as const, "restore" as const, "summarise" as const), at }),
  },
);
const erase = fc.record({ do: fc.constant("erase" as const), at });

interface TreeMessage {
  id: string;
  role: "user" | "assistant";
  isWhole: boolean;
  parent: TreeMessage | null;
  /** Of an answer. */
  question: TreeMessage | null;
  branch: number;
}

/** A conversation as a plain tree. */
class Tree {
  messages: TreeMessage[] = [];
  branches: { id: string; head: TreeMessage | null }[] = [];
  active = 0;
  /** Where summaries end, oldest first. */
  covered: TreeMessage[] = [];
  snapshots: { id: string; head: TreeMessage }[] = [];

  path(branch = this.active): TreeMessage[] {
    const path: TreeMessage[] = [];
    for (let message = this.branches[branch]?.head ?? null; message; message = message.parent) path.unshift(message);
    return path;
  }

  add(id: string, role: TreeMessage["role"], isWhole = true, question: TreeMessage | null = null): void {
    const branch = this.branches[this.active];
    if (!branch) throw new Error("there is no branch");
    branch.head = { id, role, isWhole, parent: branch.head, question, branch: this.active };
    this.messages.push(branch.head);
  }

  leave(id: string, head: TreeMessage | null): void {
    this.active = this.branches.push({ id, head }) - 1;
  }

  versions(of: TreeMessage) {
    const messageIds = this.messages.filter(({ parent, role }) => parent === of.parent && role === of.role).map(({ id }) => id);
    return messageIds.length > 1 ? { index: messageIds.indexOf(of.id), count: messageIds.length, messageIds } : undefined;
  }

  /** The newest summary that covers nothing off the path. */
  coverPoint(): TreeMessage | null {
    const path = this.path();
    return this.covered.findLast((message) => path.includes(message)) ?? null;
  }

  /** Takes a question and all its answers out, from every path. */
  remove(question: TreeMessage): void {
    const isGone = (message: TreeMessage | null): boolean => message !== null && (message === question || message.question === question);
    const staying = (message: TreeMessage | null): TreeMessage | null => (isGone(message) ? staying(message?.parent ?? null) : message);
    for (const branch of this.branches) branch.head = staying(branch.head);
    this.messages = this.messages.filter((message) => !isGone(message));
    for (const message of this.messages) message.parent = staying(message.parent);
  }
}

const forkOf = (way: Way, from: TreeMessage): TreeMessage | null =>
  way === "editOf" ? from.parent : way === "regenerate" ? from.question : from;

/** Does the steps with the service and in a tree. */
async function grow({ database, begin, turns, branches, summaries, erases }: Stores, steps: readonly Step[]) {
  const [tree, snapshots] = [new Tree(), makeSnapshotStore(database)];
  const owner = { tenantId: "tenant", userId: uuidv7(), sessionId: uuidv7() };
  let conversation: OwnedConversation | undefined;

  async function turn(way: Way | null, from: TreeMessage | null, given: Answer): Promise<void> {
    const isAgain = way === "regenerate" || way === "again";
    const begun = await begin({ ...owner, message: `question ${tree.messages.length}`, ...(way && from ? { [way]: from.id } : {}) });
    conversation ??= { tenantId: owner.tenantId, userId: owner.userId, conversationId: begun.conversationId };
    if (tree.branches.length === 0) tree.branches.push({ id: begun.conversationId, head: null });
    if (way && from) {
      const added = (await branches.list(conversation)).find(({ id }) => !tree.branches.some((known) => known.id === id));
      tree.leave(added?.id ?? "", forkOf(way, from));
    }
    if (!isAgain) tree.add(begun.messageId, "user");
    const question = tree.path().at(-1) ?? null;
    expect(question?.id).toBe(begun.messageId);
    const answered = given === "none" ? null : sampleAnswer({ completed: given === "whole", content: `answer ${tree.messages.length}` });
    expect(await turns.finish(begun, answered && { ...answered, questionId: begun.messageId })).toBe("stored");
    if (answered) tree.add(answered.messageId, "assistant", given === "whole", question);
  }

  for (const one of steps) {
    if (one.do === "turn" || !conversation) {
      await turn(null, null, "answer" in one ? one.answer : "whole");
    } else if ("answer" in one) {
      const role = one.do === "regenerate" ? "assistant" : "user";
      const choices = tree.messages.filter((message) => one.do === "behind" || message.role === role);
      const from = choices[one.at % choices.length];
      if (from) await turn(one.do, from, one.answer);
    } else if (one.do === "switch") {
      tree.active = one.at % tree.branches.length;
      await branches.activate(conversation, tree.branches[tree.active]?.id ?? "");
    } else if (one.do === "snapshot") {
      const head = tree.path().at(-1);
      if (head) tree.snapshots.push({ id: (await snapshots.add(conversation, "here")).id, head });
    } else if (one.do === "restore") {
      const snapshot = tree.snapshots[one.at % tree.snapshots.length];
      if (snapshot) tree.leave(await snapshots.restore(conversation, snapshot.id), snapshot.head);
    } else if (one.do === "summarise") {
      const { summary, messages, rewrites } = await summaries.readBacklog(conversation, 200);
      const added = one.at % (messages.length + 1);
      const last = messages[added - 1];
      if (!last) continue;
      const counted = { readVersion: summary?.version ?? 0, text: `up to ${last.id}`, tokenCount: 3, addedMessageCount: added, rewrites };
      expect(await summaries.save(conversation, { ...counted, coveredThrough: { createdAt: last.createdAt, id: last.id } })).toBe(true);
      tree.covered.push(...tree.messages.filter(({ id }) => id === last.id));
    } else {
      const questions = tree.messages.filter(({ role }) => role === "user");
      const question = questions[one.at % questions.length];
      if (!question) continue;
      await erases.episode(owner, question.id);
      tree.remove(question);
    }
  }
  return { tree, conversation };
}

describeStores("branches and a tree", (stores) => {
  const { database, messages, branches, conversations, summaries } = stores;
  const windows = makeWindowStore(database);
  const idsOf = (said: readonly { id: string }[]): string[] => said.map(({ id }) => id);

  /** Paths, lists, counts and the window are those of the tree. */
  async function expectPaths(tree: Tree, conversation: OwnedConversation, isErased: boolean): Promise<void> {
    const listed = await branches.list(conversation);
    expect(idsOf(listed)).toEqual(idsOf(tree.branches));
    for (const [number, { id }] of tree.branches.entries()) {
      const path = tree.path(number);
      const { items } = await messages.list(conversation, ALL, "oldest_first", await branches.findPath(conversation, id));
      expect(idsOf(items)).toEqual(idsOf(path));
      if (!isErased) expect(items.map(({ versions }) => versions)).toEqual(path.map((message) => tree.versions(message)));
      expect(listed[number]).toMatchObject({ messageCount: path.length, isActive: number === tree.active });
    }
    const path = tree.path();
    expect(idsOf((await messages.list(conversation, ALL, "newest_first")).items)).toEqual(idsOf(path).toReversed());
    const window = { ...conversation, exceptMessageId: uuidv7(), atLeast: 200, maxTokens: 1_000_000, useSummary: true };
    expect(idsOf((await windows.load(window)).messages)).toEqual(idsOf(path.filter(({ isWhole }) => isWhole)));
    expect(await conversations.find({ ...conversation }, conversation.conversationId)).toMatchObject({ messageCount: path.length });
  }

  /** Recall may read the exchanges of the path, and no others. */
  async function expectExchanges(tree: Tree, conversation: OwnedConversation): Promise<void> {
    const answers = tree.messages.filter(({ role, isWhole }) => role === "assistant" && isWhole);
    const idOf = ({ id, branch, question }: TreeMessage): string => (question && question.branch === branch ? question.id : id);
    const pairs = answers.map((one) => [idOf(one), one.id] as const);
    const path = tree.path();
    const expected = answers.filter((one) => path.includes(one));
    const found = await messages.findExchanges(conversation, pairs);
    expect([...found.keys()].sort()).toEqual(expected.map(idOf).sort());
    for (const one of expected) expect(found.get(idOf(one))?.map(({ message }) => message.id)).toEqual([one.question?.id, one.id]);
  }

  test("agree in paths, versions, windows, cover points and exchanges, whatever is said, taken back, switched to, restored and summarised", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
        const { tree, conversation } = await grow(stores, steps);
        if (!conversation) return;
        await expectPaths(tree, conversation, false);
        await expectExchanges(tree, conversation);
        const cover = tree.coverPoint();
        const { summary, messages: uncovered } = await summaries.readBacklog(conversation, 200);
        expect(summary && summary.text !== "" ? summary.coveredThrough.id : null).toBe(cover?.id ?? null);
        const path = tree.path();
        const behind = path.slice(cover ? path.indexOf(cover) + 1 : 0);
        expect(idsOf(uncovered)).toEqual(idsOf(behind.filter(({ isWhole }) => isWhole)));
      }),
      { numRuns: 25, seed: 28 },
    );
  });

  test("agree in paths and exchanges when exchanges are erased, too", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(step, step, step, erase), { minLength: 3, maxLength: 14 }), async (steps) => {
        const { tree, conversation } = await grow(stores, steps);
        if (!conversation) return;
        await expectPaths(tree, conversation, true);
        await expectExchanges(tree, conversation);
      }),
      { numRuns: 25, seed: 28 },
    );
  });
});
