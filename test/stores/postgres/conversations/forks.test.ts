import { expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { OwnedConversation } from "../../../../turn/owner.ts";
import { makeSnapshotStore } from "../../../../stores/postgres/turns/snapshot-store.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { pair, talks } from "./fork-talks.ts";

describeStores("forks", (stores) => {
  test("a fork begins with the very messages of the path as far as it was forked, and goes on by itself", async () => {
    const { talk, fork, say, texts, list, window } = talks(stores);
    const origin = await talk("one", "two", "three");
    const forked = await fork(origin, 3);
    expect(await texts(forked)).toEqual([...pair("one"), ...pair("two")]);
    expect((await list(forked)).map(({ id }) => id)).toEqual((await list(origin)).slice(0, 4).map(({ id }) => id));
    await say(forked.sessionId, "other");
    await say(origin.sessionId, "four");
    expect(await window(forked)).toEqual([...pair("one"), ...pair("two"), ...pair("other")]);
    expect(await texts(origin)).toEqual([...pair("one"), ...pair("two"), ...pair("three"), ...pair("four")]);
    const { conversations } = stores;
    expect(await conversations.show(forked, forked.conversationId)).toMatchObject({
      messageCount: 6,
      forkedFrom: { conversationId: origin.conversationId, messageId: (await list(origin))[3]?.id },
      firstMessage: "one",
      lastMessage: "answer to other",
    });
    expect(await conversations.show(origin, origin.conversationId)).toMatchObject({ forkedFrom: null, messageCount: 8 });
  });

  test("a fork of a fork has what both share, and each page of it is in order", async () => {
    const { talk, fork, say, texts } = talks(stores);
    const first = await talk("one", "two");
    const second = await fork(first, null);
    await say(second.sessionId, "three");
    await say(second.sessionId, "four");
    const third = await fork(second, 5);
    await say(third.sessionId, "five");
    const whole = ["one", "two", "three", "five"].flatMap(pair);
    expect(await texts(third)).toEqual(whole);
    for (const order of ["oldest_first", "newest_first"] as const) {
      const paged: string[] = [];
      for (let after: { createdAt: Date; id: string } | null = null, isFirst = true; isFirst || after; isFirst = false) {
        const page = await stores.messages.list(third, { limit: 3, after }, order);
        paged.push(...page.items.map(({ content }) => content));
        after = page.next ? (page.items.at(-1) ?? null) : null;
      }
      expect(paged).toEqual(order === "oldest_first" ? whole : whole.toReversed());
    }
    const early = await fork(third, 1);
    expect(await texts(early)).toEqual(pair("one"));
  });

  test("what a fork shares can be edited and answered again in it, and stays as it was where it comes from", async () => {
    const { talk, fork, say, texts, list } = talks(stores);
    const origin = await talk("one", "two", "three");
    const forked = await fork(origin, null);
    const [first, , second, answer] = await list(forked);
    await say(forked.sessionId, "zwei", { editOf: second?.id ?? "" });
    expect(await texts(forked)).toEqual([...pair("one"), ...pair("zwei")]);
    expect((await list(forked))[2]).toMatchObject({ versions: { index: 1, count: 2 } });
    await say(forked.sessionId, "", { regenerate: answer?.id ?? "" });
    expect(await texts(forked)).toEqual([...pair("one"), "two", "answer to that"]);
    expect((await list(forked))[3]).toMatchObject({ versions: { index: 1, count: 2, messageIds: [answer?.id, expect.any(String)] } });
    await say(forked.sessionId, "eins", { editOf: first?.id ?? "" });
    expect(await texts(forked)).toEqual(pair("eins"));
    expect((await list(forked))[0]).toMatchObject({ versions: { index: 1, count: 2 } });
    expect(await texts(origin)).toEqual(["one", "two", "three"].flatMap(pair));
    expect((await list(origin)).filter((message) => "versions" in message && message.versions)).toEqual([]);
    const { branches } = stores;
    expect(await branches.list(forked)).toMatchObject([
      { id: forked.conversationId, parentId: null, messageCount: 6 },
      { parentId: null, origin: "edit", messageCount: 4 },
      { parentId: null, origin: "regenerate", messageCount: 4 },
      { parentId: null, origin: "edit", messageCount: 2, isActive: true },
    ]);
    await branches.activate(forked, forked.conversationId);
    expect(await texts(forked)).toEqual(["one", "two", "three"].flatMap(pair));
  });

  test("an edit of the first message that a fork has for itself is a version of that one, not of what came where it was forked", async () => {
    const { talk, fork, say, list, texts } = talks(stores);
    const origin = await talk("one", "two");
    const forked = await fork(origin, 1);
    await say(forked.sessionId, "own");
    const own = (await list(forked))[2];
    await say(forked.sessionId, "own again", { editOf: own?.id ?? "" });
    expect(await texts(forked)).toEqual([...pair("one"), ...pair("own again")]);
    expect((await list(forked))[2]).toMatchObject({ versions: { index: 1, count: 2, messageIds: [own?.id, expect.any(String)] } });
  });

  test("an edit or a switch where a fork comes from leaves the fork alone, and the other way round", async () => {
    const { talk, fork, say, list, texts } = talks(stores);
    const origin = await talk("one", "two");
    const forked = await fork(origin, null);
    await say(origin.sessionId, "zwei", { editOf: (await list(origin))[2]?.id ?? "" });
    expect(await texts(forked)).toEqual([...pair("one"), ...pair("two")]);
    const fromBranch = await fork(origin, null);
    expect(await texts(fromBranch)).toEqual([...pair("one"), ...pair("zwei")]);
    await stores.branches.activate(origin, origin.conversationId);
    expect(await texts(fromBranch)).toEqual([...pair("one"), ...pair("zwei")]);
  });

  test("snapshots of a fork keep a place among what it shares", async () => {
    const { talk, fork, say, texts } = talks(stores);
    const forked = await fork(await talk("one"), null);
    const snapshots = makeSnapshotStore(stores.database);
    const { id } = await snapshots.add(forked, "here");
    await say(forked.sessionId, "two");
    await snapshots.restore(forked, id);
    expect(await texts(forked)).toEqual(pair("one"));
    await say(forked.sessionId, "three");
    expect(await texts(forked)).toEqual([...pair("one"), ...pair("three")]);
  });

  test("what is erased of the origin is erased of the fork, which keeps its own messages", async () => {
    const { owner, talk, fork, say, list, texts } = talks(stores);
    const origin = await talk("one", "two", "three");
    const forked = await fork(origin, 3);
    await say(forked.sessionId, "own");
    await say(forked.sessionId, "", { regenerate: (await list(forked))[3]?.id ?? "" });
    expect(await texts(forked)).toEqual([...pair("one"), "two", "answer to that"]);
    await stores.erases.episode(owner, (await list(origin))[2]?.id ?? "");
    expect(await texts(forked)).toEqual(pair("one"));
    await stores.branches.activate(forked, forked.conversationId);
    expect(await texts(forked)).toEqual([...pair("one"), ...pair("own")]);
    const { conversations } = stores;
    expect(await conversations.show(forked, forked.conversationId)).toMatchObject({ messageCount: 4 });
    await stores.erases.conversation(origin);
    expect(await texts(forked)).toEqual(pair("own"));
    expect(await conversations.show(forked, forked.conversationId)).toMatchObject({ messageCount: 2, forkedFrom: null });
    await say(forked.sessionId, "and on");
    expect(await texts(forked)).toEqual([...pair("own"), ...pair("and on")]);
  });

  test("an erase names the forks that shared some of it, and takes the answers that they gave to it", async () => {
    const { owner, talk, fork, say, list, texts } = talks(stores);
    const origin = await talk("one", "two");
    const forked = await fork(origin, 1);
    const [asked, answer, second] = await list(origin);
    await say(forked.sessionId, "", { regenerate: answer?.id ?? "" });
    expect(await texts(forked)).toEqual(["one", "answer to that"]);
    await say(forked.sessionId, "own");
    expect((await stores.erases.episode(owner, second?.id ?? ""))?.forks).toEqual([]);
    const { forks, erased } = (await stores.erases.conversation(origin)) ?? {};
    expect([forks, erased?.messages]).toEqual([[forked.conversationId], 3]);
    expect(await texts(forked)).toEqual(pair("own"));
    expect(await stores.messages.find(owner, asked?.id ?? "")).toBeNull();
    expect((await stores.erases.conversation(forked))?.forks).toEqual([]);
  });

  test("nothing is imported into a fork before its place, and later messages are", async () => {
    const { owner, talk, fork, list, texts } = talks(stores);
    const origin = await talk("one");
    const forked = await fork(origin, null);
    const bring = (content: string, createdAt: Date | null) =>
      stores.imports.import({
        ...owner,
        sessionId: forked.sessionId,
        messages: [{ role: "user", content, createdAt, metadata: {} }],
        jobKinds: [],
      });
    const early = { code: "invalid_request", details: [{ field: "created_at" }] };
    await expect(bring("early", (await list(origin))[1]?.createdAt ?? null)).rejects.toMatchObject(early);
    await bring("late", null);
    expect(await texts(forked)).toEqual([...pair("one"), "late"]);
    expect(await texts(await fork(forked, null))).toEqual([...pair("one"), "late"]);
    await stores.erases.conversation(origin);
    await bring("early", new Date(0));
    expect(await texts(forked)).toEqual(["early", "late"]);
  });

  test("an erase of the fork leaves what it shared", async () => {
    const { talk, fork, say, texts } = talks(stores);
    const origin = await talk("one", "two");
    const forked = await fork(origin, null);
    await say(forked.sessionId, "own");
    await stores.erases.conversation(forked);
    expect(await texts(forked)).toEqual([]);
    expect(await texts(origin)).toEqual([...pair("one"), ...pair("two")]);
  });

  test("each exchange is loaded for recall once, and as long as it lies on the path of its conversation or of a fork", async () => {
    const { owner, talk, fork, say, list } = talks(stores);
    const origin = await talk("one", "two");
    const forked = await fork(origin, null);
    const [, , asked, answer] = await list(origin);
    const load = async () => (await stores.episodes.load(owner, [[asked?.id ?? "", answer?.id ?? ""]])).map(({ id }) => id);
    expect(await load()).toEqual([asked?.id]);
    await say(origin.sessionId, "zwei", { editOf: asked?.id ?? "" });
    expect(await load()).toEqual([asked?.id]);
    await say(forked.sessionId, "deux", { editOf: asked?.id ?? "" });
    expect(await load()).toEqual([]);
  });

  test("a fork is refused at a message of another conversation or user, at nothing, of a session that is there, and while its turn runs", async () => {
    const { owner, talk, fork, list, forks } = talks(stores);
    const [origin, other] = [await talk("one"), await talk("elsewhere")];
    const foreign = talks(stores);
    const theirs = await foreign.talk("theirs");
    const at = async (of: OwnedConversation): Promise<string> => (await list(of))[0]?.id ?? "";
    const refused = async (request: object) => forks.fork({ ...origin, at: null, sessionId: uuidv7(), ...request });
    await expect(refused({ at: await at(other) })).rejects.toMatchObject({ code: "not_found" });
    await expect(refused({ at: await at(theirs) })).rejects.toMatchObject({ code: "not_found" });
    await expect(refused({ at: uuidv7() })).rejects.toMatchObject({ code: "not_found" });
    await expect(refused({ sessionId: other.sessionId })).rejects.toMatchObject({ code: "conversation_busy", retryable: false });
    await expect(refused({ userId: foreign.owner.userId })).rejects.toMatchObject({ code: "invalid_request" });
    const forked = await fork(origin, 0);
    await expect(refused({ ...forked, at: (await list(origin))[1]?.id ?? "", sessionId: uuidv7() })).rejects.toMatchObject({
      code: "not_found",
    });
    const held = await stores.begin({ ...owner, sessionId: origin.sessionId, message: "still running" });
    await expect(refused({ at: held?.messageId ?? "" })).rejects.toMatchObject({ code: "conversation_busy" });
    expect(await list(await fork(origin, null))).toHaveLength(2);
  });
});
