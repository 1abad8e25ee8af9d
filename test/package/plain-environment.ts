import { spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { expect } from "@jest/globals";
import { postJson } from "../support/clients/api-client.ts";
import { waitUntil } from "../support/wait-until.ts";

const OF_NPM = /^(npm_config_(registry|cache|userconfig|globalconfig)|https?_proxy|no_proxy|node_extra_ca_certs)$/i;

const IMPATIENT = { npm_config_fetch_timeout: "60000" };

/**
 * The environment of somebody who has nothing but a home and npm: without what this project's own `npm` run has put into it, its
 * `node_modules/.bin` above all.
 */
export function plainEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => OF_NPM.test(name) || name === "HOME");
  const folders = (process.env["PATH"] ?? "").split(path.delimiter).filter((folder) => !folder.includes("node_modules"));
  return { ...IMPATIENT, ...(Object.fromEntries(kept) as Record<string, string>), PATH: folders.join(path.delimiter) };
}

/** Starts a command that serves on `port`, waits until `isUp`, and has a turn of it; `output` is what it has printed so far. */
export async function serve(
  [program = "", ...words]: readonly string[],
  { port, isUp, headers = {}, ...options }: SpawnOptions & { port: string; isUp: () => Promise<boolean>; headers?: Record<string, string> },
) {
  const child = spawn(program, words, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close");
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (bytes: Buffer) => (printed += bytes.toString()));
  await waitUntil("the service being up", isUp).catch((cause: unknown) => {
    child.kill("SIGKILL");
    throw new Error(`The service said: ${printed}`, { cause });
  });
  const body = { user_id: "ada", session_id: "first", message: "hello" };
  const { status, json } = await postJson<object>(`http://127.0.0.1:${port}/api/v1/chat`, body, headers);
  expect({ status, ...json }).toMatchObject({ status: 200, completed: true, answer: expect.stringContaining("offline model") });
  return { child, output: () => printed, ended };
}
