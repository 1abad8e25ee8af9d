import { expect } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { OwnedConversation, Owner } from "../../../../turn/owner.ts";
import { makeWindowStore } from "../../../../stores/postgres/turns/window-store.ts";
import type { Stores } from "../../../support/databases/describe-stores.ts";
import type { PlainTree, Talk, TreeMessage } from "./plain-tree.ts";

const ALL = { limit: 200, after: null };

const idsOf = (said: readonly { id: string }[]): string[] => said.map(({ id }) => id);

/** Compares what a database has of a user's conversations with a plain tree. */
export function treeExpectations(stores: Stores, tree: PlainTree, owner: Owner) {
  const { database, messages, branches, conversations, summaries, episodes } = stores;
  const windows = makeWindowStore(database);
  const owned = (talk: Talk): OwnedConversation => ({ ...owner, conversationId: talk.id });

  return {
    /** Paths, versions, counts and the window. */
    async paths(talk: Talk): Promise<void> {
      const conversation = owned(talk);
      const listed = await branches.list(conversation);
      expect(idsOf(listed)).toEqual(idsOf(talk.branches));
      for (const [number, { id }] of talk.branches.entries()) {
        const path = tree.path(talk, number);
        const { items } = await messages.list(conversation, ALL, "oldest_first", await branches.findPath(conversation, id));
        expect(idsOf(items)).toEqual(idsOf(path));
        for (const [place, { id: ofId, versions, otherAnswers }] of items.entries()) {
          const message = path[place];
          if (versions) expect([versions.messageIds[versions.index], new Set(versions.messageIds).size]).toEqual([ofId, versions.count]);
          if (!message || talk.isErasedFrom) continue;
          expect(versions?.messageIds ?? [ofId]).toEqual(tree.versions(talk, message));
          expect(otherAnswers ?? []).toEqual(tree.otherAnswers(talk, number, message));
        }
        expect(listed.find((one) => one.id === id)).toMatchObject({ messageCount: path.length, isActive: number === talk.active });
      }
      const path = tree.path(talk);
      expect(idsOf((await messages.list(conversation, ALL, "newest_first")).items)).toEqual(idsOf(path).toReversed());
      const window = { ...conversation, exceptMessageId: uuidv7(), atLeast: 200, maxTokens: 1_000_000, useSummary: false };
      expect(idsOf((await windows.load(window)).messages)).toEqual(idsOf(path.filter(({ isWhole }) => isWhole)));
      expect(await conversations.find(conversation, talk.id)).toMatchObject({ messageCount: path.length });
    },

    /** Where the summary ends; everything behind that is still to be summarised. `cover` is where it must end, undefined: anywhere on the path. */
    async summary(talk: Talk, cover?: TreeMessage | null): Promise<void> {
      const { messages: uncovered } = await summaries.readBacklog(owned(talk), 200);
      const end = (await summaries.find(owned(talk)))?.coveredThrough.id ?? null;
      if (cover !== undefined) expect(end).toBe(cover?.id ?? null);
      const path = tree.path(talk);
      expect([null, ...idsOf(path)]).toContain(end);
      const behind = path.slice(end === null ? 0 : idsOf(path).indexOf(end) + 1);
      expect(idsOf(uncovered)).toEqual(idsOf(behind.filter(({ isWhole }) => isWhole)));
    },

    /** Recall may read the exchanges that lie on the path of a conversation, and no others. */
    async exchanges(): Promise<void> {
      const isAgain = ({ branch, talk, question }: TreeMessage): boolean => question?.branch !== branch || question.talk !== talk;
      const idOf = (one: TreeMessage): string => (one.question && !isAgain(one) ? one.question.id : one.id);
      const pairs = tree.answers().map((one) => [idOf(one), one.id] as const);
      const expected = tree.answers().filter((one) => tree.isOnAnyPath(one));
      const found = await messages.findExchanges(owner, pairs);
      expect([...found.keys()].sort()).toEqual(expected.map(idOf).sort());
      for (const one of expected) expect(found.get(idOf(one))?.map(({ message }) => message.id)).toEqual([one.question?.id, one.id]);
      expect(idsOf(await episodes.load(owner, pairs)).sort()).toEqual(expected.map(idOf).sort());
    },

    /** A fact is known as long as its question lies on a path. To be called when the memory agent has read what is there. */
    async facts(isKnown: (question: string) => boolean): Promise<void> {
      const texts = new Map((await messages.findAll(owner, idsOf(tree.questions()))).map(({ message }) => [message.id, message.content]));
      const known = tree.questions().filter(({ id }) => isKnown(texts.get(id) ?? ""));
      expect(known.filter((question) => !tree.isOnAnyPath(question))).toEqual([]);
      const answered = tree.talks.flatMap((talk) =>
        tree.path(talk).filter((one) => one.talk === talk && one.isWhole && one.question?.talk === talk),
      );
      const missing = answered.filter(({ question }) => question && !known.includes(question));
      expect(missing.map(({ question }) => question && texts.get(question.id))).toEqual([]);
    },
  };
}
