import type { Exchange } from "../../../test/hard/chaos/chaos-users.ts";
import type { FaultWindow } from "./faults.ts";
import { figureOf, type Figure } from "../figures.ts";
import type { Plot, Series } from "../results.ts";
import { byMinute } from "./growth.ts";
import type { ProcessSample, StoredSample } from "./samples.ts";
import { percentile } from "../statistics.ts";

const MINUTE_MS = 60_000;
/** The first and the last minutes that are compared. */
const ENDS_MINUTES = 5;
const FLAT = 1.5;

const FIRST_TOKEN = "first token, no fault";
const TURN = "turn, no fault";
const FIRST_TOKEN_IN_FAULT = "first token, during a fault";
const TURN_IN_FAULT = "turn, during a fault";
export const RAW_FIRST_TOKEN = "raw model call, first token";
export const RAW_TURN = "raw model call, whole";

/** Milliseconds by what was timed and by the minute in which it began. */
export type Timings = Map<string, number[][]>;

/** Adds a time to its minute. */
export function addTime(timings: Timings, name: string, minute: number, milliseconds: number): void {
  const minutes = timings.get(name) ?? [];
  timings.set(name, minutes);
  (minutes[minute] ??= []).push(milliseconds);
}

/** Of all minutes in order, those without any among them. */
const runsOf = (timings: Timings, name: string): number[][] => Array.from(timings.get(name) ?? [], (minute) => minute ?? []);

/** The times of everybody who sent a message once and waited, by the minute in which it was sent. */
export function latencies(exchanges: readonly Exchange[], windows: readonly FaultWindow[], began: number, timings: Timings): void {
  for (const { isPlain, reports } of exchanges) {
    const [report] = reports;
    if (!isPlain || !report?.done) continue;
    const { began: sent, firstTokenMs, ms } = report;
    const isInFault = windows.some(({ from, until }) => sent < until && sent + ms > from);
    const minute = Math.floor((sent - began) / MINUTE_MS);
    addTime(timings, isInFault ? TURN_IN_FAULT : TURN, minute, ms);
    if (firstTokenMs !== null) addTime(timings, isInFault ? FIRST_TOKEN_IN_FAULT : FIRST_TOKEN, minute, firstTokenMs);
  }
}

/** How the p99 of the last minutes stands to that of the first; null when there are none. */
function flatness(timings: Timings, name: string): number | null {
  const runs = runsOf(timings, name);
  const ends = Math.max(1, Math.min(ENDS_MINUTES, Math.floor(runs.length / 2)));
  const [first, last] = [runs.slice(0, ends).flat(), runs.slice(-ends).flat()];
  return first.length === 0 || last.length === 0 ? null : percentile(last, 0.99) / percentile(first, 0.99);
}

export function figuresOf(timings: Timings): Figure[] {
  const shown: { name: string; reference?: string }[] = [
    { name: RAW_FIRST_TOKEN },
    { name: FIRST_TOKEN, reference: RAW_FIRST_TOKEN },
    { name: FIRST_TOKEN_IN_FAULT, reference: RAW_FIRST_TOKEN },
    { name: RAW_TURN },
    { name: TURN, reference: RAW_TURN },
    { name: TURN_IN_FAULT, reference: RAW_TURN },
  ];
  const times = shown.flatMap(({ name, ...more }) => (timings.has(name) ? [figureOf(name, "ms", runsOf(timings, name), more)] : []));
  const ratios = [FIRST_TOKEN, TURN].flatMap((name) => {
    const ratio = flatness(timings, name);
    return ratio === null ? [] : [figureOf(`p99 of ${name}: last minutes to first`, "times", [[ratio]], { goal: { atMost: FLAT } })];
  });
  return [...times, ...ratios];
}

/** By minute, also of those in which nothing was measured. */
function percentiles(timings: Timings, name: string, minutes: number): Series[] {
  const runs = runsOf(timings, name);
  return [0.5, 0.95, 0.99].map((share) => ({
    name: `${name}, p${share * 100}`,
    values: Array.from({ length: minutes }, (_, minute) => {
      const values = runs[minute] ?? [];
      return values.length === 0 ? null : percentile(values, share);
    }),
  }));
}

function ofProcesses(
  processes: readonly ProcessSample[],
  began: number,
  minutes: number,
  read: (minute: readonly ProcessSample[]) => number | null,
): Series[] {
  return [0, 1].map((place) => {
    const looked = byMinute(
      processes.filter((sample) => sample.place === place),
      began,
    );
    return { name: `process ${place + 1}`, values: Array.from({ length: minutes }, (_, minute) => read(looked[minute] ?? [])) };
  });
}

/** Percent of one core between the first and the last look at the process that was looked at most in this minute. */
function cpuPercent(minute: readonly ProcessSample[]): number | null {
  const [life = []] = [...Map.groupBy(minute, ({ pid }) => pid).values()].toSorted((one, other) => other.length - one.length);
  const [first, last] = [life[0], life.at(-1)];
  if (!first || !last || first === last) return null;
  return ((last.cpuSeconds - first.cpuSeconds) / ((last.at - first.at) / 1_000)) * 100;
}

const least =
  (measure: "heapMiB" | "residentMiB" | "handles" | "descriptors" | "sockets") =>
  (minute: readonly ProcessSample[]): number | null =>
    minute.length === 0 ? null : Math.min(...minute.map((sample) => sample[measure]));

export function plotsOf(
  timings: Timings,
  { processes, stored }: { processes: readonly ProcessSample[]; stored: readonly StoredSample[] },
  began: number,
  minutes: number,
): Plot[] {
  const x = { label: "minutes", values: Array.from({ length: minutes }, (_, minute) => minute + 1) };
  const plot = (title: string, label: string, unit: string, series: readonly Series[]): Plot => ({ title, x, y: { label, unit }, series });
  const looked = byMinute(stored, began);
  const ofStored = (name: string, read: (sample: StoredSample) => number): Series => ({
    name,
    values: Array.from({ length: minutes }, (_, minute) => looked[minute]?.map(read).at(-1) ?? null),
  });
  const tables = Object.keys(stored.at(-1)?.rows ?? {}).filter((table) => stored.some(({ rows }) => (rows[table] ?? 0) > 0));
  return [
    plot(
      "Soak: first token",
      "first token",
      "ms",
      [FIRST_TOKEN, FIRST_TOKEN_IN_FAULT].flatMap((name) => percentiles(timings, name, minutes)),
    ),
    plot(
      "Soak: whole turn",
      "turn",
      "ms",
      [TURN, TURN_IN_FAULT].flatMap((name) => percentiles(timings, name, minutes)),
    ),
    plot("Soak: CPU", "of one core", "%", ofProcesses(processes, began, minutes, cpuPercent)),
    plot("Soak: resident memory", "lowest of the minute", "MiB", ofProcesses(processes, began, minutes, least("residentMiB"))),
    plot("Soak: heap in use", "lowest of the minute", "MiB", ofProcesses(processes, began, minutes, least("heapMiB"))),
    plot("Soak: open files", "lowest of the minute", "files", ofProcesses(processes, began, minutes, least("descriptors"))),
    plot("Soak: sockets", "lowest of the minute", "sockets", ofProcesses(processes, began, minutes, least("sockets"))),
    plot("Soak: jobs", "jobs", "jobs", [
      ofStored("waiting or running", ({ pendingJobs }) => pendingJobs),
      ofStored("dead", ({ deadJobs }) => deadJobs),
    ]),
    plot(
      "Soak: rows",
      "rows",
      "rows",
      tables.map((table) => ofStored(table, ({ rows }) => rows[table] ?? 0)),
    ),
    plot("Soak: index", "episodes", "rows", [ofStored("episodes", ({ episodes }) => episodes)]),
  ];
}
