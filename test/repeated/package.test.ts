import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { createDataFolder } from "../servers/data-folder.ts";
import { createRealDatabase } from "../support/databases/databases.ts";

const run = promisify(execFile);
const LOOP = fileURLToPath(new URL("./package-loop.ts", import.meta.url));

interface Look {
  resources: string[];
  listeners: Record<string, number>;
  megabytes: { heapUsed: number; rss: number };
}

/** Fails when the process does not end by itself. */
async function loop(where: string, times: number, turns: number): Promise<{ early: Look; late: Look; warnings: string[] }> {
  const { stdout } = await run(process.execPath, ["--expose-gc", LOOP, where, String(times), String(turns)], { timeout: 100_000 });
  return JSON.parse(stdout) as Awaited<ReturnType<typeof loop>>;
}

describe.each([
  ["an embedded database", async () => createDataFolder().then(({ folder, remove }) => ({ where: folder, remove }))],
  ["a real Postgres", async () => createRealDatabase().then(({ url, drop }) => ({ where: url, remove: drop }))],
])("a program that uses the package over %s", (_name, create) => {
  test.each([
    ["opens, uses and closes everything a dozen times", 12, 1],
    ["runs twenty turns on what it has opened", 3, 20],
  ])("%s, and leaves nothing behind", async (_title, times, turns) => {
    const { where, remove } = await create();
    const { early, late, warnings } = await loop(where, times, turns).finally(remove);
    expect(warnings).toEqual([]);
    expect(late.resources).toEqual([]);
    expect(late.listeners).toEqual(early.listeners);
    expect(late.megabytes.heapUsed).toBeLessThan(early.megabytes.heapUsed + 20);
    expect(late.megabytes.rss).toBeLessThan(early.megabytes.rss + 200);
  });
});
