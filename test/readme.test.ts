import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { pythonEnvironment } from "./servers/python-environment.ts";
import { describeUnless } from "./support/describe-unless.ts";
import { runScript } from "./support/run-script.ts";
import { useServiceOnFolder } from "./support/services/service-on-folder.ts";
import { waitUntil } from "./support/wait-until.ts";

const README = readFileSync(new URL("../README.md", import.meta.url), "utf8");
/** As they stand there, of the first example. */
const [tell = "", ask = "", known = ""] = [...README.matchAll(/```sh\n(curl [^`]*)\n```/g)].map(([, command = ""]) => command);
const [, answer = "none"] = /"status":"done","content":\{"answer":("(?:[^"\\]|\\.)*")/.exec(README) ?? [];
const facts = [...known.matchAll(/"([^"]+)"/g)].map(([, fact = ""]) => fact);

const running = useServiceOnFolder();
const openai = await pythonEnvironment(["openai==3.54.0"]);

const type = async (command: string): Promise<string> =>
  (await promisify(execFile)("bash", ["-c", `${command.replaceAll("http://127.0.0.1:8000", running.url)} --silent`])).stdout;

test("the first example of README.md, typed command by command, prints what README.md shows", async () => {
  expect(JSON.parse(await type(tell))).toMatchObject({ completed: true });
  const core = known.replace(/ +#.*/, "");
  await waitUntil("core memory", async () => {
    const now = await type(core);
    return facts.every((fact) => now.includes(fact));
  });
  expect(facts).toEqual(["Lives in Lisbon.", "Likes jazz."]);
  const streamed = await type(ask);
  expect(streamed).toContain(`"answer":${answer}`);
  for (const status of ["route_decision", "token", "done"]) expect(streamed).toContain(`data: {"status":"${status}"`);
});

describeUnless(openai.missing, "the Python example of README.md", () => {
  test("answers from memory with OpenAI's own client", async () => {
    const [, program = ""] = /```python\n([^`]*)```/.exec(README) ?? [];
    const { stdout } = await promisify(execFile)(openai.python, ["-c", program.replace("http://127.0.0.1:8000", running.url)]);
    expect(stdout.trimEnd()).toBe(JSON.parse(answer));
  });
});

test("the first commands of README.md are the ones that .ci/run types in a fresh clone, where npm ci takes too long for a test", () => {
  const [, first = ""] = /```sh\n([^`]*)```/.exec(README) ?? [];
  const typed = first
    .split("\n")
    .flatMap((line) => line.replace(/#.*/, "").split("&&"))
    .map((command) => command.trim());
  expect([...new Set(typed)]).toEqual(["npm ci", "npm start", "npm test", ""]);
  const ci = readFileSync(new URL("../.ci/run", import.meta.url), "utf8");
  for (const command of ["npm ci", "npm test"]) expect(ci).toMatch(new RegExp(`^[^#\n]*\\b${command}\\b`, "m"));
});

test("npm run ingest -- KB FOLDER of README.md makes a base that a plain question finds in npm run chat", async () => {
  expect(README).toContain("`npm run ingest -- KB FOLDER`");
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-readme-"));
  await writeFile(
    path.join(folder, "tram.md"),
    "# Tram 28\n\nA single ticket for tram 28 costs 3.10 euros on board. Children travel free.\n",
  );
  expect((await runScript("ingest", ["travel", folder, "--url", running.url])).stdout).toContain('1 documents in "travel", 0 failed');
  const { stdout } = await runScript(
    "chat",
    ["--url", running.url, "--user", "eve"],
    {},
    "What does a ticket for tram 28 cost?\n/memory\n/quit\n",
  );
  expect(stdout).toContain('"tram.md > Tram 28" says: "A single ticket for tram 28 costs 3.10 euros on board." [1]');
  await rm(folder, { recursive: true });
});

test("every command in README.md's table shows its usage with --help", async () => {
  const table = README.slice(README.indexOf("## Commands"));
  const named = [...table.matchAll(/^\| `npm run (\w+)/gm)].map(([, name = ""]) => name);
  const commands = named.filter((name) => !["studio", "bench"].includes(name));
  expect(commands).toEqual(["chat", "ingest", "export", "reindex", "jobs", "models", "audit"]);
  for (const name of commands) expect((await runScript(name, ["--help"])).stdout).toContain(`npm run ${name}`);
});
