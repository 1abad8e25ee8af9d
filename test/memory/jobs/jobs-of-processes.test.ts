import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { NEVER_MS, untilAborted, useRunners } from "./job-runners.ts";
import { addJobs, sampleJob } from "../../support/samples/sample-jobs.ts";
import { startTcpProxy } from "../../servers/tcp-proxy.ts";
import { waitUntil } from "../../support/wait-until.ts";
import fc from "fast-check";
import { planRetry } from "../../../memory/jobs/run-jobs.ts";

describe("jobs of several processes on one Postgres", () => {
  let real: Awaited<ReturnType<typeof createRealDatabase>>;
  let opened: Database[] = [];
  beforeEach(async () => {
    real = await createRealDatabase();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()));
    await real.drop();
  });
  const start = useRunners(); // its afterEach runs before that above

  async function open(url = real.url): Promise<Database> {
    const database = await openPostgres(url);
    opened = [...opened, database];
    return database;
  }

  test("a conversation's job runs in one of them at a time, and never twice at once", async () => {
    const queues = [makeJobQueue(await open()), makeJobQueue(await open())];
    const jobs = [sampleJob(), sampleJob(), sampleJob()];
    const atWork = new Map<string, number>();
    let most = 0;
    const step = async (id: string): Promise<void> => {
      atWork.set(id, (atWork.get(id) ?? 0) + 1);
      most = Math.max(most, atWork.get(id) ?? 0);
      await sleep(10);
      atWork.set(id, (atWork.get(id) ?? 0) - 1);
    };
    const runners = await Promise.all(queues.map((queue) => start(queue, { step })));
    await Promise.all(queues.map((queue) => addJobs(queue, ...Array.from({ length: 10 }, () => jobs).flat())));
    const overview = makeJobOverview(await open());
    await waitUntil("no job is left", async () => (await overview.count(null)).length === 0);
    expect(most).toBe(1);
    for (const { runs, errors } of runners) {
      expect(runs.every(({ outcome }) => outcome === "done")).toBe(true);
      expect(errors).toEqual([]);
    }
  });

  test("go over to another process at once when one stops", async () => {
    const [first, second] = [makeJobQueue(await open()), makeJobQueue(await open())];
    const started = Promise.withResolvers<void>();
    const step = (_id: string, signal: AbortSignal): Promise<void> => {
      started.resolve();
      return untilAborted(signal);
    };
    const stopping = await start(first, { step, remaining: "more" }, { pollMs: NEVER_MS });
    await addJobs(first, sampleJob());
    await started.promise;
    const taking = await start(second, {}, { pollMs: NEVER_MS });
    await sleep(200);
    expect(taking.runs).toEqual([]);
    await stopping.stop();
    expect(stopping.outcomes()).toEqual(["handed_back"]);
    await waitUntil("the second has run it", () => taking.runs.length === 1);
    expect(taking.outcomes()).toEqual(["done"]);
  });

  test("go on, also when running, once a database that was away for a moment is back, and the process says so", async () => {
    const proxy = await startTcpProxy(real.url);
    const elsewhere = makeJobQueue(await open());
    const overview = makeJobOverview(await open());
    const gate = Promise.withResolvers<void>();
    const started: string[] = [];
    const step = async (id: string): Promise<void> => {
      started.push(id);
      await gate.promise;
    };
    const runner = await start(makeJobQueue(await open(proxy.url)), { step });
    const [running, added] = [sampleJob(), sampleJob()];
    await addJobs(elsewhere, running);
    await waitUntil("the job has started", () => started.length === 1);
    await proxy.refuse();
    gate.resolve();
    await waitUntil("an error is told", () => runner.errors.length > 0);
    expect(runner.errors[0]).toMatchObject({ code: "storage_unavailable" });
    await addJobs(elsewhere, added);
    await proxy.restore();
    // What ended while the database was away counts as left behind once its heartbeat is over.
    await waitUntil("no job is left", async () => (await overview.count(null)).length === 0);
    expect(started).toEqual([running.conversationId, added.conversationId, running.conversationId]);
    // The process hears of a job's end a moment after the database has it.
    await waitUntil("both ends are told", () => runner.outcomes().length === 2);
    expect(runner.outcomes()).toEqual(["done", "done"]);
    await runner.stop();
    await proxy.close();
  });

  test("leave nothing open that would keep a stopped process alive", async () => {
    const open = (): string[] => process.getActiveResourcesInfo().filter((name) => name === "Timeout" || name.startsWith("TCPSocket"));
    const before = open();
    const database = await openPostgres(real.url);
    const runner = await start(makeJobQueue(database));
    await addJobs(makeJobQueue(database), sampleJob());
    await waitUntil("the job has run", () => runner.runs.length === 1);
    await runner.stop();
    await database.close();
    await waitUntil("nothing more is open than before", () => open().length <= before.length);
  });
});

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
describe("planRetry", () => {
  test.each([-30, 0, 9 * MINUTE, 10 * MINUTE - 0.001])("leaves a job of %i seconds to the queue's own short delays", (age) =>
    expect(planRetry(age)).toEqual({}),
  );

  test.each([
    [10 * MINUTE, 15, false],
    [HOUR, 90, false],
    [4 * HOUR, 6 * MINUTE, false],
    [7 * HOUR, 10 * MINUTE, false],
    [DAY - 10 * MINUTE - 1, 10 * MINUTE, false],
    [DAY - 10 * MINUTE, 10 * MINUTE, true],
    [3 * DAY, 10 * MINUTE, true],
  ])("tries a job of %i seconds again after %i, for the last time: %p", (age, retryAfterSeconds, isLast) =>
    expect(planRetry(age)).toEqual({ retryAfterSeconds, isLast }),
  );

  test("property: delays are whole seconds, never shorter for an older job, and at most ten minutes", () => {
    fc.assert(
      fc.property(fc.double({ min: 10 * MINUTE, max: 3 * DAY, noNaN: true }), fc.nat(DAY), (age, later) => {
        const delay = planRetry(age).retryAfterSeconds ?? NaN;
        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(15);
        expect(delay).toBeLessThanOrEqual(10 * MINUTE);
        expect(planRetry(age + later).retryAfterSeconds).toBeGreaterThanOrEqual(delay);
      }),
    );
  });

  test("gives a job that fails at once each time its last try within ten minutes of a day, and some hundred in all", () => {
    let [age, tries, isOver] = [10 * MINUTE, 0, false];
    while (!isOver) {
      const { retryAfterSeconds = NaN, isLast = false } = planRetry(age);
      [age, tries, isOver] = [age + retryAfterSeconds, tries + 1, isLast];
    }
    expect(age).toBeGreaterThanOrEqual(DAY);
    expect(age).toBeLessThanOrEqual(DAY + 10 * MINUTE);
    expect(tries).toBeGreaterThan(100);
    expect(tries).toBeLessThan(500);
  });
});
