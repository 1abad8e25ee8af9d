import { beforeEach, expect, test, describe } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { findResidualData } from "../../../memory/erase/find-residual-data.ts";
import type { Owner, OwnedConversation } from "../../../turn/owner.ts";
import type { EarlierAttempt, TurnKey } from "../../../turn/context.ts";
import type { OutcomeToStore, BeginTurn, BegunTurn } from "../../../stores/postgres/turns/recover-turn.ts";
import { describeStores } from "../../support/databases/describe-stores.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { beginFreely, completeTurn, EXPIRED_LEASE_MS, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import { makeErase } from "../../../memory/erase/erase.ts";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import { makeImportStore } from "../../../stores/postgres/conversations/import-store.ts";
import { useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";
import { storeExchange, type StoredExchange } from "../../support/samples/user-with-memory.ts";
import { runMemoryJobs } from "../../../memory/run-memory-jobs.ts";
import { type Happening, NOOP_OBSERVER } from "../../../observe/observer.ts";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { interceptStatements } from "../../support/databases/record-statements.ts";
import { storeConversation } from "../../support/databases/stored-conversation.ts";
import { useOpened } from "../../support/use-opened.ts";
import { waitUntil } from "../../support/wait-until.ts";

type Begun = BegunTurn & BeginTurn;
describeStores("a message that was answered at the third attempt, with a key", ({ database, turns, erases }) => {
  let owner: Owner;
  let key: TurnKey;
  let word: string;
  beforeEach(() => {
    owner = { tenantId: "tenant", userId: `user ${uuidv7()}` };
    key = { keyHash: `key ${uuidv7()}`, bodyHash: `body ${uuidv7()}`, earlier: null };
    word = `word${uuidv7().replaceAll("-", "")}`;
  });

  const outcome = (completed: boolean): OutcomeToStore => ({
    outcome: { completed, error: completed ? null : { code: "model_incomplete", retryable: true }, route_decision: { reason: word } },
    ifSuperseded: {},
  });
  const answerTo = ({ messageId, turnId }: Begun, completed: boolean) =>
    sampleAnswer({ userMessageId: messageId, content: `answer ${word}`, completed, metadata: { turn_id: turnId } });
  const again = (turn: BeginTurn, earlier: EarlierAttempt, leaseMs = 60_000): Promise<Begun> =>
    beginFreely(turns, { ...turn, turnId: uuidv7(), leaseMs, key: { ...key, earlier } });

  /** One failed after half of its answer, the next one's process died, the last one was whole. */
  async function threeAttempts(): Promise<[Begun, Begun, Begun]> {
    const first = await beginFreely(turns, sampleTurn({ ...owner, message: `question ${word}`, key }));
    await turns.finish(first, answerTo(first, false), [], outcome(false));
    const died = await again(first, { turnId: first.turnId, hadOutcome: true, isOverHere: false }, EXPIRED_LEASE_MS);
    const last = await again(first, { turnId: died.turnId, hadOutcome: false, isOverHere: false });
    await turns.finish(last, answerTo(last, true), [], outcome(true));
    return [first, died, last];
  }

  const traces = (attempts: Begun[]): string[] => [word, key.keyHash, key.bodyHash, ...attempts.map(({ turnId }) => turnId)];
  async function holders(of: string[]): Promise<string[]> {
    const found = await Promise.all(of.map((trace) => tablesHolding(database, trace)));
    return [...new Set(found.flatMap((tables) => Object.keys(tables)))].sort();
  }
  const leftovers = async (): Promise<Record<string, number>> =>
    Object.fromEntries((await findResidualData(database, null, owner)).map(({ place, count }) => [place, count]));

  test("is found by an audit with all of its attempts", async () => {
    const attempts = await threeAttempts();
    expect(await leftovers()).toEqual({ "public.conversations": 1, "public.messages": 3, "public.turns": 3 });
    expect(await holders(traces(attempts))).toEqual(["public.messages", "public.turns"]);
  });

  test.each<[string, (last: Begun) => Promise<unknown>, string[]]>([
    ["user", () => erases.user(owner), []],
    ["conversation", (last) => erases.conversation(last), []],
    ["exchange", (last) => erases.episode(owner, last.messageId), ["public.conversations"]],
  ])("leaves nothing when its %s is erased, and the attempt thought dead brings nothing back", async (_what, erase, stays) => {
    const attempts = await threeAttempts();
    const [, died, last] = attempts;
    expect(await erase(last)).not.toBeNull();
    expect(await holders(traces(attempts))).toEqual([]);
    expect(Object.keys(await leftovers())).toEqual(stays);
    expect(await turns.renew(died, 1_000)).toBe(false);
    expect(await turns.finish(died, answerTo(died, true), [], outcome(true))).toBe("gone");
    expect(await turns.finish(died, null, [], outcome(false))).not.toBe("stored");
    expect(await holders(traces(attempts))).toEqual([]);
    expect(Object.keys(await leftovers())).toEqual(stays);
  });

  test("leaves what else was said when its exchange is erased", async () => {
    const before = await completeTurn(turns, sampleTurn(owner));
    const [, , last] = await threeAttempts();
    const beside = await completeTurn(turns, sampleTurn({ ...owner, sessionId: last.sessionId }));
    await erases.episode(owner, last.messageId);
    expect(await leftovers()).toEqual({ "public.conversations": 2, "public.messages": 4, "public.turns": 2 });
    expect((await holders([before.turnId, beside.turnId])).includes("public.turns")).toBe(true);
  });

  test("frees its key when it is erased", async () => {
    const [first, , last] = await threeAttempts();
    await erases.episode(owner, last.messageId);
    const retry = { ...first, turnId: uuidv7(), key: { ...key, earlier: { turnId: last.turnId, hadOutcome: true, isOverHere: false } } };
    await expect(turns.begin(retry)).rejects.toMatchObject({ name: "AppError", code: "conversation_busy" });
    expect(await turns.begin({ ...first, turnId: uuidv7(), key })).not.toBeNull();
  });
});

describe("erasing one exchange out of the index", () => {
  const memory = useTestEpisodicMemory();
  let owner: Owner;
  let word: string;
  let exchange: StoredExchange;
  beforeEach(async () => {
    owner = { tenantId: "tenant", userId: uuidv7() };
    word = `canary${uuidv7().replaceAll("-", "")}`;
    exchange = await storeExchange(memory.database, owner, "session", word);
    await memory.indexAll({ ...owner, conversationId: exchange.conversationId });
  });

  const erase = () => makeErase(makeEraseStore(memory.database), memory.index).episode(owner, exchange.messageId);

  test("takes its episode, and no word of it is left", async () => {
    expect(Object.keys(await tablesHolding(memory.database, word))).toContain(`search.${await memory.index.name()}`);
    expect(await erase()).toMatchObject({ messages: 2, episodes: 1, isPending: false });
    expect(await tablesHolding(memory.database, word)).toEqual({});
  });

  test("by a process without an index is pending as long as there is one, which a process that has it clears", async () => {
    const withoutIndex = makeErase(makeEraseStore(memory.database), null);
    expect(await withoutIndex.episode(owner, exchange.messageId)).toMatchObject({ messages: 2, episodes: 0, isPending: true });
    expect(Object.keys(await tablesHolding(memory.database, word))).toEqual([`search.${await memory.index.name()}`]);
    expect(await withoutIndex.user(owner)).toMatchObject({ episodes: 0, isPending: true });
    const text = "delete from search_indexes returning *";
    const [record] = await memory.database.query({ text });
    expect(await withoutIndex.user(owner)).toMatchObject({ episodes: 0, isPending: false });
    const back = "insert into search_indexes select * from jsonb_populate_record(null::search_indexes, $1)";
    await memory.database.query({ text: back, values: [JSON.stringify(record)] });
    expect(await withoutIndex.user(owner)).toMatchObject({ episodes: 0, isPending: true });
  });

  // Episodes go by what is next to each other, exchanges by their turn: the answer is in the episode of the message that was imported.
  test("takes its answer out of the episode of a message that was imported in between", async () => {
    const text = "select created_at from messages where id = $1";
    const [asked] = await memory.database.query<{ created_at: Date }>({ text, values: [exchange.messageId] });
    const messages = [{ role: "user" as const, content: "imported", createdAt: asked?.created_at ?? null, metadata: {} }];
    await makeImportStore(memory.database).import({ ...owner, sessionId: "session", messages, jobKinds: [] });
    await memory.indexAll({ ...owner, conversationId: exchange.conversationId });
    await erase();
    expect(await tablesHolding(memory.database, word)).toEqual({});
  });
});

const DAYS = 30;
describeOnBothDatabases("RETENTION_DAYS", (open) => {
  const database = useOpened(open);

  async function store(daysAgo: number, set = "pinned = false"): Promise<OwnedConversation> {
    const conversation = await storeConversation(database, { count: 4 });
    const text = `update conversations set updated_at = now() - $2 * interval '1 day', ${set} where id = $1`;
    await database.query({ text, values: [conversation.conversationId, daysAgo] });
    return conversation;
  }
  const isThere = async ({ conversationId }: OwnedConversation): Promise<boolean> =>
    (await database.query({ text: "select from messages where conversation_id = $1", values: [conversationId] })).length > 0;
  const waiting = (): Promise<{ seconds: number }[]> =>
    database.query({
      text: `select extract(epoch from start_after - now())::float8 as seconds from pgboss.job
        where data->>'kind' = 'erase_unused' and state = 'created'`,
    });

  /** Runs the jobs in so many processes until the look is done; returns what they told. */
  async function look({
    processes = 1,
    over = database,
    retentionDays = DAYS,
  }: { processes?: number; over?: Database; retentionDays?: number | null } = {}) {
    await database.query({ text: "delete from pgboss.job where data->>'kind' = 'erase_unused'" });
    const told: Happening[] = [];
    const observer = { ...NOOP_OBSERVER, tell: (happening: Happening) => void told.push(happening) };
    const ended: string[] = [];
    const running = await Promise.all(
      Array.from({ length: processes }, () =>
        runMemoryJobs({ database: over, summaryModel: null, retentionDays, observer, onRun: ({ kind }) => void ended.push(kind) }),
      ),
    );
    // A slow machine takes several runs for one look; behind the last one the job waits for its next time.
    if (retentionDays !== null) await waitUntil("the look is done", async () => (await waiting()).some(({ seconds }) => seconds > 60));
    await waitUntil("its run is told", () => retentionDays === null || ended.includes("erase_unused"));
    await Promise.all(running.map((jobs) => jobs.stop(1_000)));
    return {
      told: told.filter(({ happened }) => happened === "unused_erased"),
      runs: ended.filter((kind) => kind === "erase_unused").length,
    };
  }

  test("erases what nobody has used for so long, in one process, and looks again in an hour", async () => {
    const [old, older, recent, pinned] = await Promise.all([store(31), store(400), store(29), store(400, "pinned = true")]);
    const { told, runs } = await look({ processes: 2 });
    expect(await Promise.all([old, older, recent, pinned].map(isThere))).toEqual([false, false, true, true]);
    expect(told).toEqual([{ happened: "unused_erased", conversations: 2, messages: 8 }]);
    expect(runs).toBe(1);
    const [next, ...others] = await waiting();
    expect(others).toEqual([]);
    expect(next?.seconds).toBeGreaterThan(3_000);
    expect(await makeJobOverview(database).count(null)).toContainEqual({ kind: "erase_unused", state: "waiting", count: 1 });
  });

  test("leaves a conversation in which something happens at that moment", async () => {
    const used = await store(31);
    const over = interceptStatements(database, async (statement, run) => {
      const rows = await run();
      const text = "update conversations set updated_at = now() where id = $1";
      if (statement.name === "unused-list") await database.query({ text, values: [used.conversationId] });
      return rows;
    });
    expect((await look({ over })).told).toEqual([]);
    expect(await isThere(used)).toBe(true);
  });

  test("erases more than one look lists, and nothing when it is not set", async () => {
    const many = await Promise.all(Array.from({ length: 60 }, () => store(31)));
    expect((await look({ retentionDays: null })).runs).toBe(0);
    expect(await isThere(many[0] as OwnedConversation)).toBe(true);
    await look();
    expect((await Promise.all(many.map(isThere))).filter(Boolean)).toEqual([]);
  });
});
