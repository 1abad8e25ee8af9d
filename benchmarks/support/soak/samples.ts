import { readdir, readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { readMetrics } from "../../../test/support/clients/read-metrics.ts";
import type { SoakStage } from "./stage.ts";

const PROCESS_EVERY_MS = 5_000;
const TABLES_EVERY_MS = 20_000;
const MIB = 1024 * 1024;

/** One look at one process. `at` by `performance.now()`. */
export interface ProcessSample {
  at: number;
  /** The first or the second, and which life of it. */
  place: number;
  pid: number;
  cpuSeconds: number;
  residentMiB: number;
  heapMiB: number;
  handles: number;
  descriptors: number;
  sockets: number;
}

/** One look at what is stored. */
export interface StoredSample {
  at: number;
  rows: Record<string, number>;
  /** In the index. */
  episodes: number;
  /** Jobs that wait or run, and those that failed for good. */
  pendingJobs: number;
  deadJobs: number;
}

const TABLES = `
select format('%I.%I', table_schema, table_name) as name from information_schema.tables
where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') order by 1`;

async function openFiles(pid: number): Promise<Pick<ProcessSample, "descriptors" | "sockets">> {
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all((await readdir(folder)).map((name) => readlink(`${folder}/${name}`).catch(() => "")));
  return { descriptors: links.length, sockets: links.filter((link) => link.startsWith("socket:")).length };
}

async function lookAtProcess(place: number, { url, pid }: { url: string; pid: number }): Promise<ProcessSample> {
  const { samples } = await readMetrics(url);
  const read = (name: string): number => {
    const value = samples.get(name);
    if (value === undefined) throw new Error(`/metrics does not tell ${name}`);
    return value;
  };
  return {
    ...{ at: performance.now(), place, pid, cpuSeconds: read("process_cpu_seconds_total"), handles: read("nodejs_active_handles_total") },
    residentMiB: read("process_resident_memory_bytes") / MIB,
    heapMiB: read("nodejs_heap_size_used_bytes") / MIB,
    ...(await openFiles(pid)),
  };
}

async function lookAtStored({ database, episodes }: SoakStage): Promise<StoredSample> {
  const rows: Record<string, number> = {};
  for (const { name } of await database.query<{ name: string }>({ text: TABLES })) {
    const [row] = await database.query<{ count: number }>({ text: `select count(*)::int as count from ${name}` });
    rows[name] = row?.count ?? 0;
  }
  const jobs = await makeJobOverview(database).count(null);
  const count = (isCounted: (state: string) => boolean): number =>
    jobs.filter(({ state }) => isCounted(state)).reduce((sum, job) => sum + job.count, 0);
  return {
    ...{ at: performance.now(), rows, episodes: await episodes.count() },
    ...{ pendingJobs: count((state) => state !== "dead"), deadJobs: count((state) => state === "dead") },
  };
}

/** Looks at both processes and at what is stored until it is stopped. A process that is away, or does not answer, is passed over. */
export function watchSoak(stage: SoakStage): { stop(): Promise<{ processes: ProcessSample[]; stored: StoredSample[] }> } {
  const processes: ProcessSample[] = [];
  const stored: StoredSample[] = [];
  let stopped = false;
  async function every(milliseconds: number, look: () => Promise<unknown>): Promise<void> {
    while (!stopped) {
      const next = performance.now() + milliseconds;
      await look();
      while (!stopped && performance.now() < next) await sleep(200);
    }
  }
  const ofProcess = (place: number): Promise<void> =>
    every(PROCESS_EVERY_MS, async () => {
      const service = stage.processes.running()[place];
      const sample = service && (await lookAtProcess(place, service).catch(() => undefined));
      if (sample) processes.push(sample);
    });
  const watching = Promise.all([ofProcess(0), ofProcess(1), every(TABLES_EVERY_MS, async () => stored.push(await lookAtStored(stage)))]);
  return {
    async stop() {
      stopped = true;
      await watching;
      return { processes, stored };
    },
  };
}
