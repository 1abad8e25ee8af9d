import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { type DoneCondition, makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Job } from "../../../stores/jobs/job.ts";
import type { Owner } from "../../../turn/owner.ts";
import type { BegunTurn } from "../../../stores/postgres/turns/recover-turn.ts";
import { makeWindowStore } from "../../../stores/postgres/turns/window-store.ts";
import type { Stores } from "../../support/databases/describe-stores.ts";
import { addJobs } from "../../support/samples/sample-jobs.ts";
import { decided, endOf, readNext } from "../../support/samples/sample-reading.ts";
import { beginFreely, completeTurn, EXPIRED_LEASE_MS, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import { useRacingDatabases } from "./racing-databases.ts";

const WINDOW = { atLeast: 6, useSummary: true };

describe("a statement that does several things, beside another process on real Postgres,", () => {
  const databases = useRacingDatabases();
  let one: Stores;
  let other: Stores;
  let owner: Owner;
  beforeEach(() => {
    ({ one, other } = databases);
    owner = { tenantId: "tenant", userId: uuidv7() };
  });
  const turnIn = (sessionId: string, leaseMs?: number) =>
    sampleTurn({ ...owner, sessionId, ...(leaseMs === undefined ? {} : { leaseMs }) });

  describe("begins a turn", () => {
    const begin = (sessionId: string): Promise<BegunTurn | null> => other.turns.begin(turnIn(sessionId), WINDOW);
    const textsOf = async ({ conversationId, messageId, newest }: BegunTurn): Promise<string[]> => {
      const request = { ...owner, conversationId, exceptMessageId: messageId, maxTokens: 1_000, ...WINDOW };
      const { messages } = await makeWindowStore(other.database).load(request, newest ?? undefined);
      return messages.map(({ content }) => content);
    };

    test("and gives the same newest messages as the window store when nobody came between", async () => {
      await completeTurn(one.turns, turnIn("session"));
      const begun = (await begin("session")) as BegunTurn;
      expect(begun.newest?.messages.map(({ content }) => content)).toEqual(["an answer", "a question"]);
      expect(await textsOf(begun)).toEqual(await textsOf({ ...begun, newest: null }));
    });

    test("and gives no messages for a new conversation, nor when nobody asks for them", async () => {
      expect((await begin("new"))?.newest).toEqual({ summary: null, messages: [], lastErasure: null });
      expect((await other.turns.begin(turnIn("newer")))?.newest).toBeNull();
    });

    test.each<[string, (inside: Stores, held: Owner & BegunTurn & { turnId: string }) => Promise<unknown>, string[]]>([
      [
        "the end of the turn before",
        (inside, held) => inside.turns.finish(held, sampleAnswer()),
        ["a question", "an answer", "a question", "an answer"],
      ],
      ["a turn that is taken back", (inside, held) => inside.turns.takeBack(held), ["a question", "an answer"]],
      ["an erase of the first exchange", async (inside) => inside.erases.episode(owner, (await firstOf(inside)).id), ["a question"]],
      ["an erase of the user", (inside) => inside.erases.user(owner), []],
    ])("but leaves the newest messages to a later statement after it waited for %s", async (_name, early, texts) => {
      await completeTurn(one.turns, turnIn("session"));
      const held = await beginFreely(one.turns, turnIn("session", EXPIRED_LEASE_MS));
      const [, begun] = await databases.meet(
        (inside) => early(inside, held),
        () => begin("session"),
      );
      expect(begun?.newest).toBeNull();
      expect(await textsOf(begun as BegunTurn)).toEqual(texts);
    });

    test("in a new conversation, too, but gives a user who was just erased none of the older messages", async () => {
      await completeTurn(one.turns, turnIn("session"));
      const [, begun] = await databases.meet(
        (inside) => inside.erases.user(owner),
        () => begin("another"),
      );
      expect(begun?.newest).toBeNull();
    });

    const firstOf = async (stores: Stores): Promise<{ id: string }> => {
      const text = `select messages.id from messages join conversations on conversations.id = conversation_id
        where tenant_id = $1 and user_id = $2 order by messages.created_at limit 1`;
      const [first] = await stores.database.query<{ id: string }>({ text, values: [owner.tenantId, owner.userId] });
      if (!first) throw new Error("there is no message");
      return first;
    };
  });

  describe("ends a job", () => {
    type Held = Owner & BegunTurn & { turnId: string };
    test.each<[Job["kind"], (held: Held) => Job, (stores: Stores, held: Held) => DoneCondition]>([
      [
        "index_episodes",
        ({ conversationId }) => ({ kind: "index_episodes", ...owner, conversationId }),
        (stores, { conversationId }) => stores.episodes.whenIndexed({ ...owner, conversationId }),
      ],
      ["remember", () => ({ kind: "remember", ...owner }), (stores) => stores.unread.whenRead(owner)],
    ])("of kind %s only when the turn it waited for left nothing to do", async (_kind, toJob, toCondition) => {
      await one.database.query({ text: "delete from pgboss.job" });
      const queue = makeJobQueue(other.database);
      const held = await beginFreely(one.turns, turnIn("session"));
      const job = toJob(held);
      await addJobs(queue, job);
      const [claimed] = await queue.claim(1);
      if (!claimed) throw new Error("no job was claimed");
      const [outcome, isSettled] = await databases.meet(
        (inside) => inside.turns.finish(held, sampleAnswer(), [job]),
        () => queue.settleIf(claimed, toCondition(other, held)),
      );
      expect([outcome, isSettled]).toEqual(["stored", false]);
      const again = await beginFreely(one.turns, sampleTurn({ tenantId: "tenant", userId: uuidv7() }));
      owner = { tenantId: again.tenantId, userId: again.userId };
      expect(await queue.settleIf({ ...claimed, retryCount: 7 }, toCondition(other, again))).toBe(false);
      expect(await queue.settleIf(claimed, toCondition(other, again))).toBe(true);
      expect(await one.database.query({ text: "select from pgboss.job" })).toEqual([]);
    });
  });

  describe("saves a reading that came to nothing", () => {
    test.each<[string, (inside: Stores, conversationId: string) => Promise<unknown>, string]>([
      ["an erase of the conversation", (inside, conversationId) => inside.erases.conversation({ ...owner, conversationId }), "lost"],
      [
        "an import whose message stands between those that were read",
        (inside) =>
          inside.imports.import({
            ...owner,
            sessionId: "session",
            messages: [{ role: "user", content: "between", createdAt: new Date(), metadata: {} }],
            jobKinds: [],
          }),
        "stale",
      ],
    ])("only when it did not wait for %s", async (_name, early, expected) => {
      await completeTurn(one.turns, turnIn("session"));
      const read = await readNext(one.unread, owner);
      const [, outcome] = await databases.meet(
        (inside) => early(inside, read.conversationId),
        () => other.unread.save(owner, read, endOf(read), decided()),
      );
      expect(outcome).toBe(expected);
    });
  });
});
