import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { addJobs, sampleJob } from "../../support/samples/sample-jobs.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { takeOver } from "./job-runners.ts";

const PROGRAM = fileURLToPath(new URL("job-process.ts", import.meta.url));
const TIMES = 3;

describe("healthy jobs", () => {
  let real: Awaited<ReturnType<typeof createRealDatabase>>;
  let database: Database;
  const started = new Set<ChildProcess>();
  beforeEach(async () => {
    real = await createRealDatabase();
    database = await openPostgres(real.url);
  });
  afterEach(async () => {
    await Promise.all([...started].map(kill));
    await database.close();
    await real.drop();
  });

  function start(environment: Record<string, string> = {}) {
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", PROGRAM], {
      env: { PATH: process.env["PATH"], DATABASE_URL: real.url, ...environment },
      stdio: ["ignore", "pipe", "inherit"],
    });
    started.add(child);
    let steps = 0;
    child.stdout.setEncoding("utf8").on("data", (text: string) => (steps += text.split("\n").length - 1));
    return { child, steps: () => steps };
  }
  async function kill(child: ChildProcess): Promise<void> {
    started.delete(child);
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
  async function expectAllDone(): Promise<void> {
    start({ ENDS: "yes" });
    await waitUntil("no job is left", async () => (await makeJobOverview(database).count(null)).every(({ state }) => state === "dead"));
    expect(await makeJobOverview(database).listDead(20, null)).toEqual([]);
  }

  test("are all done, twelve beside each other, whatever killed their process three times", async () => {
    await addJobs(makeJobQueue(database), ...Array.from({ length: 12 }, () => sampleJob()));
    for (let time = 0; time < TIMES; time++) {
      const { child, steps } = start();
      await waitUntil("jobs at work", () => steps() >= (time < 2 ? 12 : 1));
      await kill(child);
      await takeOver(database);
    }
    await expectAllDone();
  });

  test("are done although their process stood still three times, so long that the job was taken from it", async () => {
    await addJobs(makeJobQueue(database), sampleJob());
    const { child, steps } = start();
    for (let time = 1; time <= TIMES; time++) {
      await waitUntil("the job at work", () => steps() >= time);
      child.kill("SIGSTOP");
      await takeOver(database);
      child.kill("SIGCONT");
    }
    await waitUntil("the job at work once more", () => steps() > TIMES);
    await kill(child);
    await takeOver(database);
    await expectAllDone();
  });
});
