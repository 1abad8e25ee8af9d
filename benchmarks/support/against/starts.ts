import { setTimeout as sleep } from "node:timers/promises";
import { startMemoryService } from "../service/memory-service.ts";

/** What it costs to start a build twice on the same place, and to leave it alone. */
export interface Starts {
  firstStartMs: number;
  firstPeakMiB: number;
  laterStartMs: number;
  laterPeakMiB: number;
  /** CPU milliseconds a second, nobody there. */
  idleCpuMs: number;
}

/** After its start a process still compiles and tidies up. */
const CALMS_DOWN_MS = 15_000;
const IDLE_SECONDS = 20;

export const STARTS: Readonly<Record<keyof Starts, string>> = {
  firstStartMs: "first start until it is ready",
  firstPeakMiB: "peak of memory of the first start",
  laterStartMs: "start on existing data until it is ready",
  laterPeakMiB: "peak of memory of that start",
  idleCpuMs: "CPU of each second, idle",
};

/** Starts the build in `folder` on an empty place, and again on what it made. */
export async function measureStarts(modelUrl: string, environment: Record<string, string>, folder: string): Promise<Starts> {
  const first = await startMemoryService("first start", modelUrl, environment, folder);
  const firstPeakMiB = first.process.peakMiB();
  await first.process.stop();
  const later = await startMemoryService("later start", modelUrl, environment, folder);
  await sleep(CALMS_DOWN_MS);
  const [laterPeakMiB, cpu] = [later.process.peakMiB(), later.process.cpuMs()];
  await sleep(IDLE_SECONDS * 1_000);
  const idleCpuMs = (later.process.cpuMs() - cpu) / IDLE_SECONDS;
  await later.process.stop();
  return { firstStartMs: first.startMs, firstPeakMiB, laterStartMs: later.startMs, laterPeakMiB, idleCpuMs };
}
