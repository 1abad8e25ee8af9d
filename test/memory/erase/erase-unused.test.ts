import { expect, test } from "@jest/globals";
import { runMemoryJobs } from "../../../memory/run-memory-jobs.ts";
import type { Happening } from "../../../observe/observer.ts";
import { NOOP_OBSERVER } from "../../../observe/observer.ts";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { interceptStatements } from "../../support/databases/record-statements.ts";
import { storeConversation } from "../../support/databases/stored-conversation.ts";
import { useOpened } from "../../support/use-opened.ts";
import { waitUntil } from "../../support/wait-until.ts";

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
