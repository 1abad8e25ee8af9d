import { readdirSync, readFileSync } from "node:fs";

const TICK_MS = 10;

interface ProcessTimes {
  parent: number;
  ownMs: number;
  endedMs: number;
}

/** Null when the process is gone. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function timesOf(pid: number): ProcessTimes | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = (...places: number[]): number => places.reduce((sum, place) => sum + Number(fields[place]), 0) * TICK_MS;
    return { parent: Number(fields[1]), ownMs: ticks(11, 12), endedMs: ticks(13, 14) };
  } catch {
    return null;
  }
}

/** User and system time so far, in milliseconds, of a process alone. Throws when it is gone. */
export function ownCpuMs(pid: number): number {
  const times = timesOf(pid);
  if (!times) throw new Error(`process ${pid} is gone`);
  return times.ownMs;
}

function processes(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** User and system time so far, in milliseconds, of a process and its children, those that have ended included. */
export function treeCpuMs(pid: number): number {
  const times = timesOf(pid);
  if (!times) return 0;
  const children = processes().map(timesOf);
  return times.ownMs + times.endedMs + children.reduce((sum, child) => sum + (child?.parent === pid ? child.ownMs : 0), 0);
}

export function parentOf(pid: number): number {
  return timesOf(pid)?.parent ?? Number.NaN;
}
