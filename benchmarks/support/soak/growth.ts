import { percentile } from "../statistics.ts";
import type { ProcessSample, StoredSample } from "./samples.ts";

const MINUTE_MS = 60_000;
/** Fewer minutes than these say nothing about growth. */
const LEAST_MINUTES = 6;
/** The second half of what is looked at may be so much above the first, and in any case by so much: what is below is noise. */
const MOST_RATIO = 1.25;
const NOISE = { heapMiB: 24, residentMiB: 64, handles: 20, descriptors: 20, sockets: 20 } as const;
const ROWS_NOISE = 500;

export type Measure = keyof typeof NOISE;

/** How something went on in the last two thirds of the time it was looked at, minute by minute. */
export interface Growth {
  name: string;
  /** Medians of the first and second half of these two thirds. */
  before: number;
  after: number;
  /** Of a straight line through them, per hour. */
  slopePerHour: number;
  minutes: number;
  isUnbounded: boolean;
}

const median = (values: readonly number[]): number => percentile(values, 0.5);

/** Per hour, by least squares. */
function slopePerHour(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const [over, under] = values.reduce(
    ([sum, squares], value, minute) => [sum + (minute - middle) * (value - mean), squares + (minute - middle) ** 2],
    [0, 0],
  );
  return (over / under) * 60;
}

/** Null when there are too few minutes. */
function judge(name: string, values: readonly number[], noise: number): Growth | null {
  if (values.length < LEAST_MINUTES) return null;
  const late = values.slice(Math.floor(values.length / 3));
  const [before, after] = [median(late.slice(0, Math.floor(late.length / 2))), median(late.slice(Math.floor(late.length / 2)))];
  const isUnbounded = after > before * MOST_RATIO && after - before > noise;
  return { name, before, after, slopePerHour: slopePerHour(late), minutes: values.length, isUnbounded };
}

/** The values of each minute since the first sample, in order. */
export function byMinute<Sample extends { at: number }>(samples: readonly Sample[], began: number): Sample[][] {
  const minutes = Map.groupBy(samples, ({ at }) => Math.floor((at - began) / MINUTE_MS));
  const last = Math.max(...minutes.keys(), -1);
  return Array.from({ length: last + 1 }, (_, minute) => minutes.get(minute) ?? []);
}

/** The longest life that a process of each place had: only within one can growth be told from a new start. */
export function growthOfProcesses(samples: readonly ProcessSample[]): Growth[] {
  const lives = [...Map.groupBy(samples, ({ pid }) => pid).values()].toSorted((one, other) => other.length - one.length);
  return [0, 1].flatMap((place) => {
    const life = lives.find(([first]) => first?.place === place) ?? [];
    const minutes = byMinute(life, life[0]?.at ?? 0).filter((minute) => minute.length > 0);
    // The lowest of a minute: of the heap that is what a collection leaves.
    return (Object.keys(NOISE) as Measure[]).flatMap((measure) => {
      const lowest = minutes.map((minute) => Math.min(...minute.map((sample) => sample[measure])));
      return judge(`${measure} of process ${place + 1}`, lowest, NOISE[measure]) ?? [];
    });
  });
}

/** Rows by table: what is kept of turns grows with the messages that are kept, nothing faster, and all else does not grow. */
export function growthOfTables(samples: readonly StoredSample[], began: number): Growth[] {
  const minutes = byMinute(samples, began).flatMap((minute) => minute.slice(-1));
  const tables = Object.keys(minutes.at(-1)?.rows ?? {});
  return tables.flatMap((table) => {
    const rows = minutes.map((minute) => minute.rows[table] ?? 0);
    const messages = minutes.map((minute) => Math.max(1, minute.rows["public.messages"] ?? 0));
    const growth = judge(`rows of ${table}`, rows, ROWS_NOISE);
    if (!growth) return [];
    const share = judge(
      table,
      rows.map((count, minute) => count / (messages[minute] ?? 1)),
      0,
    );
    return { ...growth, isUnbounded: growth.isUnbounded && (share?.isUnbounded ?? false) };
  });
}
