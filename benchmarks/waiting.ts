import { setTimeout as sleep } from "node:timers/promises";
import { QUESTION_CHANNEL } from "../stores/postgres/agents/question-store.ts";
import type { Database } from "../stores/postgres/database/database.ts";
import { openPostgres } from "../stores/postgres/database/open-postgres.ts";
import { startPostgresServer } from "../test/servers/postgres-server.ts";
import { defineBench } from "./support/bench.ts";
import { figureOf } from "./support/figures.ts";
import type { Progress } from "./support/progress.ts";
import type { Measured } from "./support/results.ts";
import { allJobsDone, eightAtATime } from "./support/service/memory-users.ts";
import { type MeasuredProcess, startModel, startService } from "./support/start-process.ts";

/** Milliseconds in which nobody asks anything. */
const QUIET_MS = 10_000;
const EXPIRING = 40;
/** Between two questions whose time is over. */
const EXPIRE_EVERY_MS = 150;
const MOST_LATE_MS = 2_000;
const SETTLE_MS = 30_000;

const JSON_TYPE = { "content-type": "application/json" };

interface Held {
  residentMiB: number;
  connections: number;
  /** Milliseconds of CPU in a second. */
  idleCpu: number;
}

/** What the service holds while nobody asks anything. */
async function measureHeld(service: MeasuredProcess, database: Database): Promise<Held> {
  await allJobsDone(service.line);
  await sleep(SETTLE_MS); // connections that are no longer used are closed
  const before = service.cpuMs();
  await sleep(QUIET_MS);
  const text = "select count(*)::int as count from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
  const [{ count = 0 } = {}] = await database.query<{ count: number }>({ text });
  return { residentMiB: service.residentMiB(), connections: count, idleCpu: (service.cpuMs() - before) / (QUIET_MS / 1_000) };
}

/** How long after their time questions are closed, in milliseconds, each at another moment. */
async function measureLateness(database: Database, progress: Progress): Promise<number[]> {
  const text = `with chosen as (
    update questions set expires_at = clock_timestamp() + $1::int * interval '1 millisecond'
    where id = (select id from questions where answered_at is null and expires_at > now() + interval '1 minute' limit 1) returning id
  ) select id, pg_notify('${QUESTION_CHANNEL}', $1::text) from chosen`;
  const ids: string[] = [];
  for (let index = 0; index < EXPIRING; index++) {
    progress.step("questions expire", index, EXPIRING);
    const [row] = await database.query<{ id: string }>({ text, values: [EXPIRE_EVERY_MS] });
    if (row) ids.push(row.id);
    await sleep(EXPIRE_EVERY_MS);
  }
  const closed =
    "select (extract(epoch from answered_at - expires_at) * 1000)::float8 as ms from questions where id = any($1) and answered_at is not null";
  for (;;) {
    const rows = await database.query<{ ms: number }>({ text: closed, values: [ids] });
    if (rows.length === ids.length) return rows.map(({ ms }) => Math.max(0, ms));
    await sleep(100);
  }
}

async function run({ turns }: Record<"turns", number>, progress: Progress): Promise<Measured> {
  await using opened = new AsyncDisposableStack();
  progress.step("starting the service");
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const model = await startModel(opened);
  const service = await startService(model.line, { DATABASE_URL: postgres.url, ENABLE_EPISODIC_MEMORY: "false" });
  opened.defer(() => service.stop());
  const database = await openPostgres(postgres.url);
  opened.defer(() => database.close());
  for (const [name, action] of [
    ["clock", "allow"],
    ["asks", "ask"],
  ]) {
    const spec = { description: "Tells the time", tools: ["current_time"], permissions: [{ tool: "current_time", action }] };
    const made = await fetch(`${service.line}/api/v1/agents/${name}`, { method: "PUT", headers: JSON_TYPE, body: JSON.stringify(spec) });
    if (!made.ok) throw new Error(`the agent was not made: ${await made.text()}`);
  }
  const have = (agent: string) =>
    eightAtATime(turns, async (index) => {
      if (index % 50 === 0) progress.step(`turns of ${agent}`, index, turns);
      const session = `${agent}-${index}`;
      const message = `Turn ${index}: call 1 tools and answer with forty words.`;
      const body = JSON.stringify({ user_id: session, session_id: session, message, agent });
      const response = await fetch(`${service.line}/api/v1/chat/stream`, { method: "POST", headers: JSON_TYPE, body });
      const text = await response.text();
      if (!text.includes(`"status":"${agent === "asks" ? "waiting" : "done"}"`)) throw new Error(`turn ${session}: ${text.slice(-300)}`);
    });

  await have("clock"); // the same turns, which end: the process has grown to what its work needs
  progress.step("nothing waits");
  const before = await measureHeld(service, database);
  await have("asks");
  // Five minutes are not enough for what is measured.
  await database.query({ text: "update questions set expires_at = expires_at + interval '1 hour' where answered_at is null" });
  progress.step("all wait");
  const after = await measureHeld(service, database);
  const size = "select count(*)::int as open, sum(pg_column_size(questions.*))::float8 as bytes from questions where answered_at is null";
  const [{ open = 0, bytes = 0 } = {}] = await database.query<{ open: number; bytes: number }>({ text: size });
  if (open !== turns) throw new Error(`${open} of ${turns} turns wait`);
  const late = await measureLateness(database, progress);

  const none = "resident memory, nothing waits";
  const all = turns.toLocaleString("en");
  const figures = [
    figureOf(none, "MiB", [[before.residentMiB]]),
    figureOf(`resident memory, ${all} turns wait`, "MiB", [[after.residentMiB]], { reference: none }),
    figureOf("connections to Postgres, nothing waits", "connections", [[before.connections]]),
    figureOf(`connections to Postgres, ${all} turns wait`, "connections", [[after.connections]], { goal: { atMost: before.connections } }),
    figureOf("CPU while nobody asks anything, nothing waits", "ms/s", [[before.idleCpu]]),
    figureOf(`CPU while nobody asks anything, ${all} turns wait`, "ms/s", [[after.idleCpu]]),
    figureOf("a waiting turn's question in Postgres", "bytes", [[bytes / Math.max(1, open)]]),
    figureOf(`closed after its time, while ${all} turns wait`, "ms", [late], { goal: { atMost: MOST_LATE_MS, of: "p99" } }),
  ];
  const notes = [
    `As many turns with a call that need not ask went before, so that the process is as large as its work makes it. Memory, connections and CPU are read ${(SETTLE_MS + QUIET_MS) / 1_000} s after the last turn, on Postgres without an index.`,
    `${EXPIRING} questions expire one after the other, ${EXPIRE_EVERY_MS} ms apart; from its time to the statement that closes it.`,
  ];
  return { figures, notes };
}

export const waiting = defineBench({
  asks: "What do turns hold that wait for an answer, and how late does one go on that nobody answers",
  minutes: { short: 2, long: 3 },
  numbers: { turns: { of: "turns that wait", short: 200, long: 1_000 } },
  run,
});
