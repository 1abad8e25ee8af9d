import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../turn/owner.ts";
import type { Stores } from "../../support/databases/describe-stores.ts";
import type { UnreadConversation } from "../../../stores/postgres/memory/unread-store.ts";
import { contentsOf, versionsOf } from "../../support/samples/core-memory.ts";
import { useRacingDatabases } from "./racing-databases.ts";
import { readNext, sampleResult, saveReading, writtenByReadings } from "../../support/samples/sample-reading.ts";
import { beginFreely, completeTurn, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";

const NOTHING_WRITTEN = { sections: [], versions: [], operations: [], archived: [], cursors: [], jobs: [] };

describe("the memory agent beside another process on real Postgres", () => {
  const databases = useRacingDatabases();
  let one: Stores;
  let other: Stores;
  let owner: Owner;
  let read: UnreadConversation;
  beforeEach(async () => {
    ({ one, other } = databases);
    owner = { tenantId: "tenant", userId: uuidv7() };
    await completeTurn(one.turns, sampleTurn({ ...owner, sessionId: "session" }));
    read = await readNext(one.unread, owner);
  });

  const lockAndLook = (stores: Stores) => stores.database.transaction((transaction) => stores.unread.lockAndCheck(transaction, owner));
  const erase = (stores: Stores, what: "conversation" | "user"): Promise<unknown> =>
    what === "user" ? stores.erases.user(owner) : stores.erases.conversation({ ...owner, conversationId: read.conversationId });
  const nextTurn = () => beginFreely(one.turns, sampleTurn({ ...owner, sessionId: "session" }));

  const save = (stores: Stores) => saveReading(stores.database, owner, read, sampleResult(read, 0));

  test("loses the later of two saves of the same reading, and everything is there once", async () => {
    expect(await databases.meet(save, () => save(other))).toEqual(["saved", "lost"]);
    const { sections, versions, operations, archived, cursors, jobs } = await writtenByReadings(one.database, owner);
    expect([sections, versions, operations, archived, cursors, jobs].map((rows) => rows.length)).toEqual([1, 1, 2, 1, 1, 1]);
  });

  test("has one of eight saves of the same reading accepted, and loses all others", async () => {
    const stores = [one, other, one, other, one, other, one, other];
    const outcomes = await Promise.all(stores.map(save));
    expect(outcomes.toSorted()).toEqual([...Array.from({ length: 7 }, () => "lost"), "saved"]);
    expect((await writtenByReadings(one.database, owner)).operations).toHaveLength(2);
  });

  test("finds its save stale when it waited for a person's edit, and the edit stays", async () => {
    const put = (stores: Stores) => stores.coreMemory.put(owner, { section: "profile", content: "By hand." });
    const [, outcome] = await databases.meet(put, () => save(other));
    expect(outcome).toBe("stale");
    expect(await contentsOf(one.database, owner)).toEqual({ profile: "By hand." });
    expect(await writtenByReadings(one.database, owner)).toMatchObject({ archived: [], cursors: [], jobs: [] });
  });

  test("makes a person's edit wait for its save, and the edit is refused if it names a version, or else goes on top", async () => {
    const put = (expectedVersion?: number) => other.coreMemory.put(owner, { section: "profile", content: "By hand.", expectedVersion });
    const [saved, refused] = await databases.meet(save, () => put(0).catch((error: unknown) => error));
    expect(saved).toBe("saved");
    expect(refused).toMatchObject({ code: "stale_version" });
    expect(await put()).toMatchObject({ version: 2 });
    expect((await versionsOf(one.database, owner)).map(({ content }) => content)).toEqual(["Has a cat.", "By hand."]);
  });

  test.each(["conversation", "user"] as const)(
    "loses a save that waited for an erase of the %s, and brings nothing of it back",
    async (what) => {
      const [, outcome] = await databases.meet(
        (inside) => erase(inside, what),
        () => saveReading(other.database, owner, read),
      );
      expect(outcome).toBe("lost");
      expect(await writtenByReadings(one.database, owner)).toEqual(NOTHING_WRITTEN);
    },
  );

  test("finds its save stale when it waited for an erase of an exchange it read", async () => {
    const eraseRead = (stores: Stores) => stores.erases.episode(owner, read.messages[0]?.id ?? "");
    const [, outcome] = await databases.meet(eraseRead, () => saveReading(other.database, owner, read));
    expect(outcome).toBe("stale");
    expect(await writtenByReadings(one.database, owner)).toEqual(NOTHING_WRITTEN);
  });

  test.each(["conversation", "user"] as const)("loses all it saved to an erase of the %s that waited for the save", async (what) => {
    const [outcome] = await databases.meet(
      (inside) => saveReading(inside.database, owner, read),
      () => erase(other, what),
    );
    expect(outcome).toBe("saved");
    // An empty version 2 stays, so that whoever has read version 1 cannot write it back.
    const versions =
      what === "user" ? [] : [expect.objectContaining({ version: 2, content: "", conversation_id: null, trigger_message_id: null })];
    expect(await writtenByReadings(one.database, owner)).toEqual({ ...NOTHING_WRITTEN, versions });
  });

  test("lets no turn of the user end in any conversation between lockAndLook and the end of its transaction", async () => {
    await saveReading(one.database, owner, read);
    const turn = await beginFreely(one.turns, sampleTurn({ ...owner, sessionId: "another" }));
    const [looked, outcome] = await databases.meet(lockAndLook, () => other.turns.finish(turn, sampleAnswer()));
    expect([looked, outcome]).toEqual([false, "stored"]);
    expect(await lockAndLook(one)).toBe(true);
  });

  test("waits in lockAndLook for a turn that is ending, and sees it", async () => {
    await saveReading(one.database, owner, read);
    const turn = await nextTurn();
    const [outcome, looked] = await databases.meet(
      (inside) => inside.turns.finish(turn, sampleAnswer()),
      () => lockAndLook(other),
    );
    expect([outcome, looked]).toEqual(["stored", true]);
  });

  test("makes a turn that ends during a save wait, and finds that turn unread afterwards", async () => {
    const turn = await nextTurn();
    const answer = sampleAnswer({ content: "the next answer" });
    const outcomes = await databases.meet(
      (inside) => saveReading(inside.database, owner, read),
      () => other.turns.finish(turn, answer, [{ kind: "remember", ...owner }]),
    );
    expect(outcomes).toEqual(["saved", "stored"]);
    expect((await readNext(one.unread, owner)).messages.at(-1)).toMatchObject({ content: "the next answer" });
    expect((await writtenByReadings(one.database, owner)).jobs).toContainEqual({ kind: "remember", ...owner });
  });
});
