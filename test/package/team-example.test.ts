import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { freePort } from "../servers/free-port.ts";
import { contentOf, postTurn } from "../support/clients/event-client.ts";
import { allOf } from "../support/services/asking-team.ts";
import { waitUntil } from "../support/wait-until.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const README = await readFile(`${ROOT}examples/team/README.md`, "utf8");
/** The rows of its last table: agent, message. */
const ROWS = (README.split("More to say")[1] ?? "").split("\n").flatMap((line) => {
  const [, agent, message] = /^\| (`desk`|none) +\| (.+?) +\|/.exec(line) ?? [];
  return agent && message ? [{ agent: agent === "none" ? undefined : agent.replaceAll("`", ""), message }] : [];
});

/** `npm run team`, on a free port and with data of its own. */
async function startExample() {
  const { scripts } = JSON.parse(await readFile(`${ROOT}package.json`, "utf8")) as { scripts: Record<string, string> };
  const [program, ...words] = (scripts["team"] ?? "").split(" ");
  expect(program).toBe("node");
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-team-"));
  const port = String(await freePort());
  const env = { PATH: process.env["PATH"], PORT: port, DATA_DIR: folder, LOG_LEVEL: "warn" };
  const child = spawn(process.execPath, words, { cwd: ROOT, env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close");
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  await waitUntil("the example being ready", () => printed.includes("is ready") || child.exitCode !== null);
  expect(printed).toContain("The team is ready.");
  async function stop(): Promise<void> {
    child.kill("SIGTERM");
    expect((await ended)[0]).toBe(0);
    await rm(folder, { recursive: true, force: true });
  }
  return { url: `http://127.0.0.1:${port}`, stop };
}

describe("the example of a team, with the offline model", () => {
  let example: Awaited<ReturnType<typeof startExample>>;
  beforeAll(async () => {
    example = await startExample();
  });
  afterAll(() => example.stop());
  const say = (message: string, agent?: string) => postTurn(example.url, { user_id: "ada", session_id: "tuesday", message, agent });

  test("asks two members at once, who search the handbook and tell the time", async () => {
    const [, body = ""] = /-d '(.+)'/.exec(README) ?? [];
    const turn = await postTurn(example.url, JSON.parse(body) as object);
    const calls = allOf(turn, "tool_call").map(({ path: of, name }) => `${of.join(" > ")}: ${name}`);
    expect(calls.sort()).toEqual([
      ...["briefing > clock: current_time", "briefing > researcher: knowledge_search", "briefing: ask_agent", "briefing: ask_agent"],
    ]);
    const { answer, agent } = contentOf(turn.events, "done");
    expect(agent).toBe("briefing");
    expect(answer).toMatch(/researcher says: .*broken.*\nclock says: .*UTC/s);
  });

  test("gives tasks when the user says so in English or Chinese, hands over, and stays with the clerk, who asks", async () => {
    expect(ROWS).toHaveLength(4);
    for (const { agent, message } of ROWS.slice(0, 2)) {
      const turn = await say(message, agent);
      expect(allOf(turn, "tool_call").map(({ path: of }) => of.at(-1))).toEqual(["desk", "researcher", "desk", "clock"]);
      expect(contentOf(turn.events, "done").answer).toMatch(/researcher.*clock/s);
    }
    const [handed, kept] = ROWS.slice(2);
    const turn = await say(handed?.message ?? "", handed?.agent);
    expect(allOf(turn, "handoff")).toMatchObject([{ from: "desk", to: "clerk" }]);
    const asked = await say(kept?.message ?? "", kept?.agent);
    expect(contentOf(asked.events, "waiting").question).toMatchObject({ agent: "clerk", tool: { name: "memory_save" } });
  });
});
