import { AppError, toAppError } from "../errors/app-error.ts";
import { parseConfig, readEnvironment } from "../server/start/config.ts";
import { openDatabase } from "../server/start/open-stores.ts";
import { JOB_KINDS, jobKey, type JobKind } from "../stores/jobs/job.ts";
import { type JobOverview, makeJobOverview } from "../stores/jobs/job-overview.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";

const USAGE = `npm run jobs                    counts the background jobs and lists those that failed for good
npm run jobs -- retry [KIND]    runs the failed ones again; kinds: ${JOB_KINDS.join(", ")}`;

const isKind = (text: string): text is JobKind => (JOB_KINDS as readonly string[]).includes(text);

async function list(overview: JobOverview): Promise<void> {
  const [counts, dead] = await Promise.all([overview.count(null), overview.listDead(20, null)]);
  if (counts.length === 0) console.log("no jobs");
  for (const { kind, state, count } of counts) console.log(`${kind} ${state}: ${count}`);
  for (const { job, failure, attempts, diedAt } of dead) {
    console.log(`dead since ${diedAt.toISOString()} after ${attempts} attempts: ${jobKey(job)}: ${failure.message}`);
  }
}

async function run([command, kind]: string[], overview: JobOverview): Promise<void> {
  if (command === undefined) return list(overview);
  if (command !== "retry" || (kind !== undefined && !isKind(kind))) throw new AppError("invalid_request", USAGE);
  console.log(`${await overview.retryDead({ tenantId: null, kind })} jobs will run again`);
}

try {
  const database = await openDatabase(parseConfig(readEnvironment()));
  try {
    await migrate(database);
    await run(process.argv.slice(2), makeJobOverview(database));
  } finally {
    await database.close();
  }
} catch (error) {
  console.error(toAppError(error).message);
  process.exitCode = 1;
}
