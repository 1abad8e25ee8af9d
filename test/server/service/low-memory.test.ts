import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { killServiceProcesses, startServiceProcess } from "../../servers/service-process.ts";
import { postJson } from "../../support/clients/api-client.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-memory-"));
});
afterEach(async () => {
  await killServiceProcesses();
  await rm(folder, { recursive: true, force: true });
});

/** The most that the process has ever had in memory, in MiB. https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
const peakMiB = (pid: number): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

test("with LOW_MEMORY the embedded database starts and answers without the compiler's peak of 500 MiB", async () => {
  const service = await startServiceProcess({ DATA_DIR: folder, LOW_MEMORY: "true" });
  for (const message of ["My boat is called Calypso.", "What is my boat called?"]) {
    const { status, json } = await postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "first", message });
    expect({ status, ...json }).toMatchObject({ status: 200, completed: true, degraded: [] });
  }
  expect(peakMiB(service.pid)).toBeLessThan(800);
});
