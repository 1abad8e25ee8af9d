import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../turn/owner.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Stores } from "../../support/databases/describe-stores.ts";
import { contentsOf } from "../../support/samples/core-memory.ts";
import { insideOf, useRacingDatabases } from "./racing-databases.ts";
import { addJobs } from "../../support/samples/sample-jobs.ts";
import {
  beginFreely,
  completeTurn,
  EXPIRED_LEASE_MS,
  LONG_LEASE_MS,
  sampleAnswer,
  sampleTurn,
} from "../../support/samples/sample-turns.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { sampleSummary } from "../../support/databases/stored-conversation.ts";
import { rememberConversation, storeExchange, type RememberedConversation } from "../../support/samples/user-with-memory.ts";

describe("beside another process on real Postgres, an erase", () => {
  const databases = useRacingDatabases();
  let one: Stores;
  let other: Stores;
  let owner: Owner;
  let kept: RememberedConversation;
  let word: string;
  beforeEach(async () => {
    ({ one, other } = databases);
    owner = { tenantId: `tenant ${uuidv7()}`, userId: `user ${uuidv7()}` };
    word = `canary${uuidv7()}`;
    kept = await rememberConversation(one.database, owner, word);
  });

  const begin = (stores: Stores, sessionId: string) => beginFreely(stores.turns, sampleTurn({ ...owner, sessionId, message: word }));
  const eraseUser = (stores: Stores) => stores.erases.user(owner);
  const eraseConversation = (stores: Stores) => stores.erases.conversation(kept);
  const eraseExchange = (stores: Stores, messageId: string) => stores.erases.episode(owner, messageId);
  const errorOf = (error: unknown): unknown => error;
  const importOne = (stores: Stores, sessionId: string) => {
    const messages = [{ role: "user" as const, content: word, createdAt: null, metadata: {} }];
    return stores.imports.import({ ...owner, sessionId, messages, jobKinds: ["summarise", "remember"] });
  };
  const sessionOf = (which: string): string => (which === "a new session" ? uuidv7() : kept.sessionId);
  async function expectNothingLeft(): Promise<void> {
    for (const trace of [word, owner.userId, kept.conversationId]) expect(await tablesHolding(one.database, trace)).toEqual({});
  }
  const left = () =>
    one.database.query<{ id: string; count: number }>({
      text: "select conversation_id as id, count(*)::int as count from messages where strpos(content, $1) > 0 group by 1",
      values: [word],
    });

  describe.each(["the same session", "a new session"])("with a turn or an import in %s", (which) => {
    test("takes a turn that has begun and is not committed", async () => {
      const [turn] = await databases.meet(
        (inside) => begin(inside, sessionOf(which)),
        () => eraseUser(other),
      );
      await expectNothingLeft();
      expect(await one.turns.finish(turn, sampleAnswer({ content: word }), [{ kind: "remember", ...owner }])).toBe("gone");
      await expectNothingLeft();
    });

    test("makes a turn that begins meanwhile wait, and the turn begins a new conversation", async () => {
      const [, turn] = await databases.meet(eraseUser, () => begin(other, sessionOf(which)));
      expect(turn.conversationId).not.toBe(kept.conversationId);
      expect(await left()).toEqual([{ id: turn.conversationId, count: 1 }]);
      expect(await other.turns.finish(turn, sampleAnswer())).toBe("stored");
    });

    test("makes an import wait, and the import makes a new conversation", async () => {
      const [, { conversationId }] = await databases.meet(eraseUser, () => importOne(other, sessionOf(which)));
      expect(conversationId).not.toBe(kept.conversationId);
      expect(await left()).toEqual([{ id: conversationId, count: 1 }]);
    });
  });

  describe.each([
    ["user", LONG_LEASE_MS, 0, eraseUser],
    ["conversation", LONG_LEASE_MS, 0, eraseConversation],
    ["exchange, after the lease of its turn is over,", EXPIRED_LEASE_MS, 4, eraseExchange],
  ] as const)("of the %s", (_what, leaseMs, messages, erase) => {
    async function ask() {
      const turn = await begin(one, kept.sessionId);
      await one.turns.renew(turn, leaseMs);
      const answer = sampleAnswer({ userMessageId: turn.messageId, content: `the answer to ${word}`, metadata: { turn_id: turn.turnId } });
      const job = { kind: "summarise" as const, ...owner, conversationId: kept.conversationId };
      const finish = (stores: Stores) => stores.turns.finish(turn, answer, [job]);
      return { finish, eraseIn: (stores: Stores): Promise<unknown> => erase(stores, turn.messageId) };
    }
    async function expectAnswerErased(): Promise<void> {
      expect(await tablesHolding(one.database, `the answer to ${word}`)).toEqual({});
      expect(await left()).toEqual(messages === 0 ? [] : [{ id: kept.conversationId, count: messages }]);
      if (messages === 0) expect(await tablesHolding(one.database, kept.conversationId)).toEqual({});
    }

    test("makes a turn that ends meanwhile wait and find itself gone, with no job", async () => {
      const { finish, eraseIn } = await ask();
      const [, outcome] = await databases.meet(eraseIn, () => finish(other));
      expect(outcome).toBe("gone");
      await expectAnswerErased();
    });

    test("takes the answer and the jobs of a turn that is ending", async () => {
      const { finish, eraseIn } = await ask();
      const [outcome] = await databases.meet(finish, () => eraseIn(other));
      expect(outcome).toBe("stored");
      await expectAnswerErased();
    });
  });

  test("of an exchange waits for a turn that begins and is then refused, and waits for a turn that ends and is then done", async () => {
    const episode = () => eraseExchange(other, kept.exchanges[0]?.messageId ?? "").catch(errorOf);
    const [turn, refused] = await databases.meet((inside) => begin(inside, kept.sessionId), episode);
    expect(refused).toMatchObject({ code: "conversation_busy" });
    const [outcome, done] = await databases.meet((inside) => inside.turns.finish(turn, sampleAnswer()), episode);
    expect([outcome, done]).toEqual(["stored", expect.objectContaining({ erased: expect.objectContaining({ messages: 2 }) })]);
  });

  test("of an exchange is refused when a lease that had run out has just been renewed", async () => {
    const turn = await begin(one, kept.sessionId);
    await one.turns.renew(turn, EXPIRED_LEASE_MS);
    const [renewed, refused] = await databases.meet(
      (inside) => inside.turns.renew(turn, LONG_LEASE_MS),
      () => eraseExchange(other, turn.messageId).catch(errorOf),
    );
    expect([renewed, refused]).toEqual([true, expect.objectContaining({ code: "conversation_busy" })]);
    expect(await left()).toEqual([{ id: kept.conversationId, count: 5 }]);
  });

  async function summaryOf(sessionId: string) {
    const exchange = await storeExchange(one.database, owner, sessionId, word);
    const conversation = { ...owner, conversationId: exchange.conversationId };
    const { summary, messages, rewrites } = await one.summaries.readBacklog(conversation, 40);
    const [last] = messages.slice(-1);
    if (!last) throw new Error("nothing was read");
    const text = `Summary: ${exchange.messageId}`;
    const next = sampleSummary(last, { readVersion: summary?.version ?? 0, text, rewrites });
    const save = (stores: Stores) => stores.summaries.save(conversation, next);
    return { exchange, before: summary, text, save, find: () => one.summaries.find(conversation) };
  }

  test.each(["a first", "a next"])("of one exchange makes %s summary that is saved meanwhile wait and fail", async (which) => {
    const { exchange, before, text, save, find } = await summaryOf(which === "a next" ? kept.sessionId : uuidv7());
    expect(before === null).toBe(which === "a first");
    const stored = await find();
    const [rows, isSaved] = await databases.meet(
      (inside) => eraseExchange(inside, exchange.messageId),
      () => save(other),
    );
    expect([rows?.erased.messages, isSaved]).toEqual([2, false]);
    expect(await find()).toEqual(stored);
    expect(await tablesHolding(one.database, text)).toEqual({});
  });

  test("of one exchange waits for a summary of it that is being saved, and has the summary made anew", async () => {
    const { exchange, text, save, find } = await summaryOf(uuidv7());
    const [isSaved, rows] = await databases.meet(save, () => eraseExchange(other, exchange.messageId));
    expect([isSaved, rows?.erased.summaries]).toEqual([true, 1]);
    expect(await find()).toBeNull(); // what it told is gone
    expect(await tablesHolding(one.database, text)).toEqual({});
  });

  test("of a user takes an import that is not committed", async () => {
    const [imported] = await databases.meet(
      (inside) => importOne(inside, uuidv7()),
      () => eraseUser(other),
    );
    expect(imported).toMatchObject({ imported: 1 });
    await expectNothingLeft();
  });

  test("of a user takes an edit of core memory that is not committed, and an edit that comes meanwhile begins anew", async () => {
    const put = (stores: Stores) => stores.coreMemory.put(owner, { section: "profile", content: word });
    await databases.meet(put, () => eraseUser(other));
    await expectNothingLeft();
    kept = await rememberConversation(one.database, owner, word);
    const [, written] = await databases.meet(eraseUser, () => put(other));
    expect(written).toMatchObject({ version: 1 });
    expect(await contentsOf(one.database, owner)).toEqual({ profile: word });
  });

  test("takes a user, conversation or exchange once: of two erases at once the second finds nothing", async () => {
    const episode = (stores: Stores) => eraseExchange(stores, kept.exchanges[0]?.messageId ?? "");
    const [first, second] = await databases.meet(episode, () => episode(other));
    expect([first?.erased.messages, second]).toEqual([2, null]);
    const [third, fourth] = await databases.meet(eraseConversation, () => eraseConversation(other));
    expect([third?.erased.messages, fourth]).toEqual([2, null]);
    await rememberConversation(one.database, owner, word);
    const [fifth, sixth] = await databases.meet(eraseUser, () => eraseUser(other));
    expect([fifth.erased.messages, sixth.erased.messages]).toEqual([4, 0]);
    await expectNothingLeft();
  });

  test("of one user lets another user's turn go on", async () => {
    const begun = async () => completeTurn(other.turns, sampleTurn({ ...owner, userId: `${owner.userId} ` }));
    await one.database.transaction(async (transaction) => {
      await eraseUser(insideOf(one, transaction));
      expect((await begun()).conversationId).toEqual(expect.any(String));
    });
  });

  test("of one user ends without a deadlock beside many turns, imports, edits and erases, and a last erase leaves nothing", async () => {
    const work = Array.from({ length: 6 }, (_, round) => {
      const [here, there] = round % 2 === 0 ? [one, other] : [other, one];
      const turn = async () => {
        const asked = sampleTurn({ ...owner, sessionId: `s${round % 3}`, message: word });
        const begun = await here.turns.begin(asked);
        if (!begun) return;
        const jobs = (["summarise", "index_episodes"] as const).map((kind) => ({ kind, ...owner, conversationId: begun.conversationId }));
        await here.turns.finish({ ...asked, ...begun }, sampleAnswer({ content: word }), jobs);
      };
      return [
        turn(),
        importOne(there, `s${round % 3}`).catch((error: unknown) => expect(error).toMatchObject({ code: "conversation_busy" })),
        there.coreMemory.put(owner, { section: "profile", content: word }),
        addJobs(makeJobQueue(here.database), { kind: "remember", ...owner }),
        round % 3 === 2 ? eraseUser(there) : eraseConversation(there),
      ];
    });
    await Promise.all(work.flat());
    await eraseUser(one);
    await expectNothingLeft();
  });
});
