import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { closeServer, listen, portOf } from "../../../server/http/listen.ts";
import { connectTo } from "../../support/clients/raw-connection.ts";

const run = promisify(execFile);

test.each([
  ["lets the answer that it is sending end, and does not wait for the next request on its connection", 120_000, true],
  ["cuts off an answer that has not ended when its grace period is over", 50, false],
])("a server that closes %s", async (_what, graceMs, hasEnd) => {
  const closing = Promise.withResolvers<void>();
  const server = await listen(
    (_request, response) => {
      response.write("first ");
      if (hasEnd) void closing.promise.then(() => setTimeout(() => response.end("last"), 100));
    },
    0,
    "127.0.0.1",
  );
  const connection = await connectTo(`http://127.0.0.1:${portOf(server)}`);
  connection.socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await connection.until("first ");
  const closed = closeServer(server, graceMs);
  closing.resolve();
  await Promise.all([closed, connection.closed]);
  expect(connection.received().includes("last")).toBe(hasEnd);
});

/** The longest queue of connections that the system allows; undefined where nobody can tell. */
async function longestQueue(): Promise<number | undefined> {
  try {
    await run("ss", ["-V"]);
    return Number(await readFile("/proc/sys/net/core/somaxconn", "utf8"));
  } catch {
    return undefined;
  }
}

const longest = await longestQueue();
const title = "the service lets thousands of connections wait until they are accepted, as far as the system allows";
(longest === undefined ? test.skip : test)(longest === undefined ? `${title} (skipped: no ss, or no Linux)` : title, async () => {
  const server = await listen(() => undefined, 0, "127.0.0.1");
  const { stdout } = await run("ss", ["-Hltn", `sport = :${portOf(server)}`]);
  expect(Number(stdout.trim().split(/\s+/)[2])).toBe(Math.min(4_096, longest ?? 0)); // the column Send-Q
  await closeServer(server);
});
