import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../stores/owner.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import { makeCoreMemoryStore } from "../../../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import { makeImportStore } from "../../../stores/postgres/conversations/import-store.ts";
import { makeTurnStore } from "../../../stores/postgres/conversations/turn-store.ts";
import { contentsOf } from "../../support/samples/core-memory.ts";
import { openRacingDatabases, type RacingDatabases } from "./racing-databases.ts";
import { addJobs } from "../../support/samples/sample-jobs.ts";
import { beginFreely, completeTurn, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { rememberConversation, type RememberedConversation } from "../../support/samples/user-with-memory.ts";

describe("an erase beside another process on real Postgres", () => {
  let databases: RacingDatabases;
  let one: Database;
  let other: Database;
  let owner: Owner;
  let kept: RememberedConversation;
  let word: string;
  beforeAll(async () => {
    databases = await openRacingDatabases();
    ({ one, other } = databases);
  });
  beforeEach(async () => {
    owner = { tenantId: `tenant ${uuidv7()}`, userId: `user ${uuidv7()}` };
    word = `canary${uuidv7()}`;
    kept = await rememberConversation(one, owner, word);
  });
  afterAll(() => databases.close());

  const begin = (database: Database, sessionId: string) =>
    beginFreely(makeTurnStore(database), sampleTurn({ ...owner, sessionId, message: word }));
  const eraseUser = (database: Database) => makeEraseStore(database).user(owner);
  const eraseConversation = (database: Database) => makeEraseStore(database).conversation(kept);
  const importOne = (database: Database, sessionId: string) => {
    const messages = [{ role: "user" as const, content: word, createdAt: null, metadata: {} }];
    return makeImportStore(database).import({ ...owner, sessionId, messages, jobKinds: ["summarise", "remember"] });
  };
  async function expectNothingLeft(): Promise<void> {
    for (const trace of [word, owner.userId, kept.conversationId]) expect(await tablesHolding(one, trace)).toEqual({});
  }
  /** Messages with the canary word, by conversation. */
  const left = () =>
    one.query<{ id: string; count: number }>({
      text: "select conversation_id as id, count(*)::int as count from messages where strpos(content, $1) > 0 group by 1",
      values: [word],
    });

  test.each(["the same session", "a new session"])(
    "a turn in %s that has begun and is not committed is erased with the user",
    async (which) => {
      const sessionId = which === "a new session" ? uuidv7() : kept.sessionId;
      const [turn] = await databases.meet(
        (inside) => begin(inside, sessionId),
        () => eraseUser(other),
      );
      await expectNothingLeft();
      expect(await makeTurnStore(one).finish(turn, sampleAnswer({ content: word }), [{ kind: "remember", ...owner }])).toBe("gone");
      await expectNothingLeft();
    },
  );

  test.each(["the same session", "a new session"])(
    "a turn in %s that begins during an erase waits, and begins a new conversation",
    async (which) => {
      const sessionId = which === "a new session" ? uuidv7() : kept.sessionId;
      const [, turn] = await databases.meet(
        (inside) => eraseUser(inside),
        () => begin(other, sessionId),
      );
      expect(turn.conversationId).not.toBe(kept.conversationId);
      expect(await left()).toEqual([{ id: turn.conversationId, count: 1 }]);
      expect(await makeTurnStore(other).finish(turn, sampleAnswer())).toBe("stored");
    },
  );

  test.each([
    ["user", eraseUser],
    ["conversation", eraseConversation],
  ])("a turn that ends during an erase of the %s waits, is gone, and adds no job", async (_name, erase) => {
    const turn = await begin(one, kept.sessionId);
    const job = { kind: "summarise" as const, ...owner, conversationId: kept.conversationId };
    const [, outcome] = await databases.meet(erase, () => makeTurnStore(other).finish(turn, sampleAnswer({ content: word }), [job]));
    expect(outcome).toBe("gone");
    expect(await left()).toEqual([]);
    expect(await tablesHolding(one, kept.conversationId)).toEqual({});
  });

  test.each([
    ["user", eraseUser],
    ["conversation", eraseConversation],
  ])("an erase of the %s takes the answer and the jobs of a turn that is ending", async (_name, erase) => {
    const turn = await begin(one, kept.sessionId);
    const job = { kind: "summarise" as const, ...owner, conversationId: kept.conversationId };
    const [outcome] = await databases.meet(
      (inside) => makeTurnStore(inside).finish(turn, sampleAnswer({ content: word }), [job]),
      () => erase(other) as Promise<unknown>,
    );
    expect(outcome).toBe("stored");
    expect(await left()).toEqual([]);
    expect(await tablesHolding(one, kept.conversationId)).toEqual({});
  });

  test("an import that is not committed is erased with the user", async () => {
    const [imported] = await databases.meet(
      (inside) => importOne(inside, uuidv7()),
      () => eraseUser(other),
    );
    expect(imported).toMatchObject({ imported: 1 });
    await expectNothingLeft();
  });

  test.each(["the same session", "a new session"])(
    "an import into %s during an erase waits, and makes a new conversation",
    async (which) => {
      const sessionId = which === "a new session" ? uuidv7() : kept.sessionId;
      const [, { conversationId }] = await databases.meet(
        (inside) => eraseUser(inside),
        () => importOne(other, sessionId),
      );
      expect(conversationId).not.toBe(kept.conversationId);
      expect(await left()).toEqual([{ id: conversationId, count: 1 }]);
    },
  );

  test("an edit of core memory that is not committed is erased with the user; one that comes during the erase begins anew", async () => {
    const put = (database: Database) => makeCoreMemoryStore(database).put(owner, { section: "profile", content: word });
    await databases.meet(put, () => eraseUser(other));
    await expectNothingLeft();
    kept = await rememberConversation(one, owner, word);
    const [, written] = await databases.meet(eraseUser, () => put(other));
    expect(written).toMatchObject({ version: 1 });
    expect(await contentsOf(one, owner)).toEqual({ profile: word });
  });

  test("two erases of the same user, conversation or exchange at once: one takes it, the other finds nothing", async () => {
    const [exchange] = kept.exchanges;
    const episode = (database: Database) => makeEraseStore(database).episode(owner, exchange?.messageId ?? "");
    const [first, second] = await databases.meet(episode, () => episode(other));
    expect([first?.erased.messages, second]).toEqual([2, null]);
    const [third, fourth] = await databases.meet(eraseConversation, () => eraseConversation(other));
    expect([third?.erased.messages, fourth]).toEqual([2, null]);
    await rememberConversation(one, owner, word);
    const [fifth, sixth] = await databases.meet(eraseUser, () => eraseUser(other));
    expect([fifth.erased.messages, sixth.erased.messages]).toEqual([4, 0]);
    await expectNothingLeft();
  });

  test("users do not wait for each other: another's turn goes on while a user is erased", async () => {
    const stranger = { ...owner, userId: `${owner.userId} ` };
    await one.transaction(async (transaction) => {
      await makeEraseStore({ ...one, query: (statement) => transaction.query(statement), transaction: (work) => work(transaction) }).user(
        owner,
      );
      const turn = await completeTurn(makeTurnStore(other), sampleTurn(stranger));
      expect(turn.conversationId).toEqual(expect.any(String));
    });
  });

  test("many turns, imports, edits and erases of one user at once end without a deadlock, and a last erase leaves nothing", async () => {
    const work = Array.from({ length: 6 }, (_, round) => {
      const [here, there] = round % 2 === 0 ? [one, other] : [other, one];
      const turn = async () => {
        const asked = sampleTurn({ ...owner, sessionId: `s${round % 3}`, message: word });
        const begun = await makeTurnStore(here).begin(asked);
        if (!begun) return;
        const jobs = (["summarise", "index_episodes"] as const).map((kind) => ({ kind, ...owner, conversationId: begun.conversationId }));
        await makeTurnStore(here).finish({ ...asked, ...begun }, sampleAnswer({ content: word }), jobs);
      };
      return [
        turn(),
        importOne(there, `s${round % 3}`).catch((error: unknown) => expect(error).toMatchObject({ code: "conversation_busy" })),
        makeCoreMemoryStore(there).put(owner, { section: "profile", content: word }),
        addJobs(makeJobQueue(here), { kind: "remember", ...owner }),
        round % 3 === 2 ? eraseUser(there) : eraseConversation(there),
      ];
    });
    await Promise.all(work.flat());
    await eraseUser(one);
    await expectNothingLeft();
  });
});
