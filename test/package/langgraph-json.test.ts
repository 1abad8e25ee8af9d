import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";

const CLI = path.resolve("node_modules/.bin/langgraphjs");

/** The image that the LangGraph CLI builds on; it refuses a Node that it has no image for. */
async function imageFor(nodeVersion: string): Promise<string | undefined> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-langgraph-"));
  const configFile = path.join(folder, "langgraph.json");
  const dockerfile = path.join(folder, "Dockerfile");
  const config = JSON.parse(await readFile("langgraph.json", "utf8")) as { node_version: string };
  await writeFile(configFile, JSON.stringify({ ...config, node_version: nodeVersion }));
  await cp("package.json", path.join(folder, "package.json"));
  await cp("server/studio.ts", path.join(folder, "server/studio.ts"));
  try {
    await promisify(execFile)(CLI, ["dockerfile", dockerfile, "--config", configFile]).catch(() => undefined);
    return /^FROM (\S+)/.exec(await readFile(dockerfile, "utf8").catch(() => ""))?.[1];
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("langgraph.json names the newest Node that LangGraph has an image for, and the package runs on it", async () => {
  const { node_version: version } = JSON.parse(await readFile("langgraph.json", "utf8")) as { node_version: string };
  const { engines } = JSON.parse(await readFile("package.json", "utf8")) as { engines: { node: string } };
  expect(engines.node).toMatch(new RegExp(`^>=${version}\\.`));
  expect(await imageFor(version)).toMatch(new RegExp(`langgraphjs-api:${version}$`));
  expect(await imageFor(String(Number(version) + 2))).toBeUndefined();
});
