import { expect } from "@jest/globals";
import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import type { DecideMemory } from "../../../../memory/core/remember-turns.ts";
import type { OwnedConversation } from "../../../../turn/owner.ts";
import { makeForkStore } from "../../../../stores/postgres/conversations/fork-store.ts";
import { makeSnapshotStore } from "../../../../stores/postgres/turns/snapshot-store.ts";
import type { Stores } from "../../../support/databases/describe-stores.ts";
import { readingAgent } from "../../../support/samples/reading-agent.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";
import { PlainTree, type Talk, type TreeMessage } from "./plain-tree.ts";

type Answer = "whole" | "cut" | "none";
const WAYS = ["editOf", "regenerate", "behind", "again"] as const;
type Way = (typeof WAYS)[number];

/** `in` chooses the conversation, `at` a message, branch or snapshot of it. */
export type Step = { in: number; at: number } & (
  | { do: "turn" | Way; answer: Answer }
  | { do: "switch" | "snapshot" | "restore" | "summarise" | "fork" | "import" | "read" | "erase" | "eraseAll" }
);

const place = { in: fc.nat(9), at: fc.nat(99) };
const answer = fc.constantFrom<Answer>("whole", "whole", "cut", "none");
const turn = fc.record({ ...place, do: fc.constant("turn" as const), answer });
const takesBack = fc.record({ ...place, do: fc.constantFrom(...WAYS), answer });
const moves = fc.record({ ...place, do: fc.constantFrom("switch" as const, "snapshot" as const, "restore" as const) });
const remembers = fc.record({ ...place, do: fc.constantFrom("summarise" as const, "read" as const) });
const fork = fc.record({ ...place, do: fc.constant("fork" as const) });
const brings = fc.record({ ...place, do: fc.constant("import" as const) });
const erases = fc.record({ ...place, do: fc.constantFrom("erase" as const, "erase" as const, "eraseAll" as const) });

export const step: fc.Arbitrary<Step> = fc.oneof(turn, turn, takesBack, takesBack, moves, moves, remembers, fork, brings);
export const stepOrErase: fc.Arbitrary<Step> = fc.oneof(step, step, step, erases);

/** What the memory agent of these tests knows of a question. */
const factOf = (question: string): string => `fact of ${question}`;

const decide: DecideMemory = ({ memory, turns }) => {
  for (const said of turns) {
    const known = (memory.contents()["goals"] ?? "").split("\n").filter(Boolean);
    const fact = factOf(said.userMessage);
    if (!known.includes(fact)) memory.write({ section: "goals", lines: [...known, fact].map((text) => ({ text })) }, said);
  }
  return Promise.resolve();
};

/** Does steps with the service and in a plain tree. */
export function makeGrower(stores: Stores) {
  const { database, begin, turns, branches, summaries, erases, messages, imports, coreMemory } = stores;
  const [tree, agent, forks, snapshots] = [new PlainTree(), readingAgent(database), makeForkStore(database), makeSnapshotStore(database)];
  const { owner } = agent;
  let said = 0;
  const owned = (talk: Talk): OwnedConversation => ({ ...owner, conversationId: talk.id });
  const chosen = <Item>(items: readonly Item[], number: number): Item | undefined => items[number % Math.max(1, items.length)];

  async function timesOf(ids: readonly string[]): Promise<number[]> {
    const found = new Map((await messages.findAll(owner, ids)).map(({ message }) => [message.id, message.createdAt.getTime()]));
    return ids.map((id) => found.get(id) ?? NaN);
  }

  async function say(talk: Talk | undefined, way: Way | null, from: TreeMessage | undefined, given: Answer): Promise<void> {
    const sessionId = talk?.sessionId ?? uuidv7();
    const isAgain = way === "regenerate" || way === "again";
    const begun = await begin({ ...owner, sessionId, message: `question ${said++}`, ...(way && from ? { [way]: from.id } : {}) });
    talk ??= tree.add(begun.conversationId, sessionId);
    if (way && from) {
      const added = (await branches.list(owned(talk))).find(({ id }) => !talk.branches.some((known) => known.id === id));
      tree.leave(talk, added?.id ?? "", tree.placeOf(way, from));
    }
    if (!isAgain) tree.say(talk, { id: begun.messageId, role: "user", at: (await timesOf([begun.messageId]))[0] ?? NaN });
    const question = tree.path(talk).at(-1) ?? null;
    expect(question?.id).toBe(begun.messageId);
    const answered = given === "none" ? null : sampleAnswer({ completed: given === "whole", content: `answer ${said}` });
    expect(await turns.finish(begun, answered && { ...answered, userMessageId: begun.messageId })).toBe("stored");
    if (!answered) return;
    const [at = NaN] = await timesOf([answered.messageId]);
    tree.say(talk, { id: answered.messageId, role: "assistant", at, isWhole: given === "whole", question });
  }

  async function summarise(talk: Talk, at: number): Promise<void> {
    const { summary, messages: uncovered, rewrites } = await summaries.readBacklog(owned(talk), 200);
    const added = at % (uncovered.length + 1);
    const last = uncovered[added - 1];
    if (!last) return;
    const counted = { readVersion: summary?.version ?? 0, text: `up to ${last.id}`, tokenCount: 3, addedMessageCount: added, rewrites };
    const coveredThrough = { createdAt: last.createdAt, id: last.id };
    expect(await summaries.save(owned(talk), { ...counted, coveredThrough })).toBe(true);
    const through = tree.path(talk).find(({ id }) => id === last.id);
    if (through) tree.summarise(talk, through);
  }

  /** A question and its answer, of the time of a message of the path or of one before all. */
  async function bring(talk: Talk, at: number): Promise<void> {
    const path = tree.path(talk);
    const [first, beside] = [path[0], chosen(path, at)];
    const createdAt = new Date(at % 4 === 0 ? (first?.at ?? 2_000) - 1_000 : (beside?.at ?? 2_000));
    const pair = (["user", "assistant"] as const).map((role) => ({ role, content: `question ${said++}`, createdAt, metadata: {} }));
    const importing = imports.import({ ...owner, sessionId: talk.sessionId, messages: pair, jobKinds: [] });
    if (talk.base && talk.sources.size > 0 && createdAt.getTime() <= talk.base.at) {
      await expect(importing).rejects.toMatchObject({ code: "invalid_request" });
      return;
    }
    const [askedId = "", answerId = ""] = (await importing).messageIds;
    tree.insert(talk, { id: askedId, role: "user", at: createdAt.getTime(), question: null });
    const question = tree.path(talk).find(({ id }) => id === askedId) ?? null;
    tree.insert(talk, { id: answerId, role: "assistant", at: createdAt.getTime(), question });
  }

  async function doStep(one: Step): Promise<void> {
    const talk = chosen(tree.talks, one.in);
    if (!talk || one.do === "turn") return say(talk, null, undefined, "answer" in one ? one.answer : "whole");
    const own = tree.messagesOf(talk);
    if ("answer" in one) {
      const isTaken = ({ role }: TreeMessage): boolean => one.do === "behind" || (role === "assistant") === (one.do === "regenerate");
      const from = chosen(own.filter(isTaken), one.at);
      return from && say(talk, one.do, from, one.answer);
    }
    if (one.do === "switch") {
      const branch = one.at % talk.branches.length;
      await branches.activate(owned(talk), talk.branches[branch]?.id ?? "");
      tree.switch(talk, branch);
    } else if (one.do === "snapshot") {
      const head = tree.path(talk).at(-1);
      if (head) talk.snapshots.push({ id: (await snapshots.add(owned(talk), "here")).id, head });
    } else if (one.do === "restore") {
      const snapshot = chosen(talk.snapshots, one.at);
      if (snapshot) tree.leave(talk, await snapshots.restore(owned(talk), snapshot.id), snapshot.head);
    } else if (one.do === "summarise") {
      await summarise(talk, one.at);
    } else if (one.do === "fork") {
      const base = one.at % 3 === 0 ? tree.path(talk).at(-1) : chosen(own, one.at);
      if (!base) return;
      const sessionId = uuidv7();
      const id = await forks.fork({ ...owned(talk), at: one.at % 3 === 0 ? null : base.id, sessionId });
      tree.add(id, sessionId, base, talk);
    } else if (one.do === "import") {
      await bring(talk, one.at);
    } else if (one.do === "read") {
      await agent.readAll(decide);
    } else if (one.do === "erase") {
      const question = chosen(tree.questions(), one.at);
      if (!question) return;
      await erases.episode(owner, question.id);
      tree.erase(question);
    } else {
      await erases.conversation(owned(talk));
      tree.eraseTalk(talk);
    }
  }

  return {
    tree,
    owner,
    doStep,
    /** Has the memory agent read what is left to read; then tells whether it knows the fact of a question. */
    readFacts: async (): Promise<(question: string) => boolean> => {
      await agent.readAll(decide);
      const facts = (await coreMemory.load(owner)).sections.flatMap(({ content }) => content.split("\n"));
      return (question) => facts.includes(factOf(question));
    },
  };
}
