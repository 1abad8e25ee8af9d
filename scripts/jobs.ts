import { parseConfig, readEnvironment } from "../server/settings/config.ts";
import { openDatabase } from "../server/parts/open-stores.ts";
import { JOB_KINDS, jobKey, type JobKind } from "../stores/jobs/job.ts";
import { makeJobOverview } from "../stores/jobs/job-overview.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { callService, serviceBehind } from "./call-service.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run jobs                    counts the background jobs and lists those that failed for good
npm run jobs -- retry [KIND]    runs the failed ones again; kinds: ${JOB_KINDS.join(", ")}
A service that has the embedded database is asked; its first key that may write is used.`;
const MOST_SHOWN = 20;

const isKind = (text: string): text is JobKind => (JOB_KINDS as readonly string[]).includes(text);

interface ShownJobs {
  jobs: { kind: string; state: string; count: number }[];
  dead: { kind: string; conversation_id?: string; error: { message: string }; attempts: number; died_at: string }[];
}

/** Asks the database, or the service that holds it. */
interface Jobs extends AsyncDisposable {
  list(): Promise<ShownJobs>;
  retry(kind: JobKind | undefined): Promise<number>;
}

async function openJobs(): Promise<Jobs> {
  const config = parseConfig(readEnvironment());
  const database = await openDatabase(config).catch((error: unknown) => serviceBehind(error, config));
  if (!("query" in database)) {
    const body = (kind: JobKind | undefined) => ({
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ kind }),
    });
    return {
      list: async () => (await (await callService(database, `/api/v1/jobs?limit=${MOST_SHOWN}`)).json()) as ShownJobs,
      retry: async (kind) =>
        ((await (await callService(database, "/api/v1/jobs/retry", body(kind))).json()) as { retried: number }).retried,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  await migrate(database);
  const overview = makeJobOverview(database);
  return {
    async list() {
      const [jobs, dead] = await Promise.all([overview.count(null), overview.listDead(MOST_SHOWN, null)]);
      const shown = dead.map(({ job, failure, attempts, diedAt }) => {
        return { kind: jobKey(job), error: failure, attempts, died_at: diedAt.toISOString() };
      });
      return { jobs, dead: shown };
    },
    retry: (kind) => overview.retryDead({ tenantId: null, kind }),
    [Symbol.asyncDispose]: () => database.close(),
  };
}

await runCommand({ usage: USAGE, words: [0, 2] }, async ({ positionals: [command, kind] }, refuse) => {
  if ((command !== undefined && command !== "retry") || (kind !== undefined && !isKind(kind))) refuse();
  await using jobs = await openJobs();
  if (command === "retry") return console.log(`${await jobs.retry(kind as JobKind | undefined)} jobs will run again`);
  const { jobs: counts, dead } = await jobs.list();
  if (counts.length === 0) console.log("no jobs");
  for (const { kind, state, count } of counts) console.log(`${kind} ${state}: ${count}`);
  for (const { kind, conversation_id: id, error, attempts, died_at: at } of dead)
    console.log(`dead since ${at} after ${attempts} attempts: ${[kind, ...(id ? [id] : [])].join("/")}: ${error.message}`);
});
