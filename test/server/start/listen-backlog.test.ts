import { readFile } from "node:fs/promises";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { closeServer, listen, portOf } from "../../../server/http/listen.ts";

const SOMAXCONN = "/proc/sys/net/core/somaxconn";
const run = promisify(execFile);

/** How long the queue of a listening socket may be, as Linux tells in the column Send-Q. */
async function queueOf(port: number): Promise<number> {
  const { stdout } = await run("ss", ["-Hltn", `sport = :${port}`]);
  return Number(stdout.trim().split(/\s+/)[2]);
}

/** The most that the system allows; undefined where nobody can tell. */
async function longestQueue(): Promise<number | undefined> {
  try {
    await run("ss", ["-V"]);
    return Number(await readFile(SOMAXCONN, "utf8"));
  } catch {
    return undefined;
  }
}

const longest = await longestQueue();
const title = "the service lets thousands of connections wait until they are accepted, as far as the system allows";
(longest === undefined ? test.skip : test)(longest === undefined ? `${title} (skipped: no ss, or no Linux)` : title, async () => {
  const server = await listen(() => undefined, 0, "127.0.0.1");
  expect(await queueOf(portOf(server))).toBe(Math.min(4_096, longest ?? 0));
  await closeServer(server);
});
