import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import openapiTS, { astToString } from "openapi-typescript";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";

const run = promisify(execFile);

/** A program as somebody writes it who knows the service by its description only. */
const PROGRAM = `
import createClient from "openapi-fetch";
import type { components, paths } from "./api.ts";

const client = createClient<paths>({ baseUrl: process.argv[2] ?? "" });
const ada = { user_id: "ada", session_id: "typed" };

const turn = await client.POST("/api/v1/chat", { body: { ...ada, message: "Hello from types" } });
if (!turn.data) throw new Error(turn.error.error.message);
if (!("answer" in turn.data)) throw new Error(turn.data.question.question);
const { answer, usage, receipt }: components["schemas"]["TurnResult"] = turn.data;

const list = await client.GET("/api/v1/conversations", { params: { query: { user_id: "ada", limit: 5 } } });
const sessions: string[] = list.data?.conversations.map(({ session_id }) => session_id) ?? [];

const refused = await client.GET("/api/v1/conversations/{id}/messages", { params: { path: { id: "no-uuid" } } });
const code: components["schemas"]["ErrorAnswer"]["error"]["code"] | undefined = refused.error?.error.code;

function wordsOf(event: components["schemas"]["TurnEvent"]): string {
  return event.status === "token" ? event.content : event.status === "done" ? event.content.answer : "";
}

const words = wordsOf({ status: "token", content: "word" });
console.log(JSON.stringify({ answer, tokens: usage.total_tokens, window: receipt.window_messages, sessions, code, words }));
`;

/** Each line is wrong in one way. */
const MISTAKES = [
  `await client.POST("/api/v1/chat", { body: { userid: "misspelt", session_id: "s", message: "m" } });`,
  `await client.POST("/api/v1/chat", { body: { user_id: "ada", session_id: "s", message: 7 } });`,
  `await client.POST("/api/v1/chat", { body: { user_id: "ada", session_id: "s", message: "m", agent_type: "unknown" } });`,
  `await client.GET("/api/v1/conversations", { params: { query: { limit: 5 } } });`,
  `await client.GET("/api/v1/conversation", {});`,
  `(await client.GET("/api/v1/jobs")).data?.jobs[0]?.state === "gone";`,
  `(await client.GET("/readyz")).data?.uptime;`,
];
const WRONG = `import createClient from "openapi-fetch";
import type { paths } from "./api.ts";
const client = createClient<paths>({ baseUrl: "" });
${MISTAKES.join("\n")}
`;
const LINES_BEFORE = WRONG.split("\n").indexOf(MISTAKES[0] ?? "") + 1;

const TSCONFIG = {
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    lib: ["es2023", "dom"],
    types: ["node"],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
  },
};

describe("a client generated from the description", () => {
  let running: ServiceWithModel;
  let folder: string;

  beforeAll(async () => {
    running = await openServiceWithModel();
    running.model.answer(() => ({ tokens: ["Hello ", "to you"] }));
    folder = await mkdtemp(path.join(os.tmpdir(), "typed-client-"));
    await symlink(path.resolve("node_modules"), path.join(folder, "node_modules"));
    const options = { defaultNonNullable: false }; // a field with a default can be left out
    const types = await openapiTS(new URL(`${running.url}/openapi.json`), options); // refuses what is no OpenAPI
    const files = {
      "api.ts": astToString(types),
      "program.ts": PROGRAM,
      "wrong.ts": WRONG,
      "package.json": JSON.stringify({ type: "module" }),
      "tsconfig.json": JSON.stringify(TSCONFIG),
    };
    await Promise.all(Object.entries(files).map(([name, text]) => writeFile(path.join(folder, name), text)));
  });
  afterAll(async () => {
    await running.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("type-checks correct calls, and shows an error for every wrong one", async () => {
    const compiler = path.resolve("node_modules/typescript/bin/tsc");
    const compile = run(process.execPath, [compiler, "--pretty", "false", "-p", folder], { cwd: folder });
    const { stdout } = await compile.catch((failed: { stdout: string }) => failed);
    const places = [...stdout.matchAll(/^(\S+?)\((\d+),\d+\): error/gm)].map(([, file, line]) => `${file}:${line}`);
    expect([...new Set(places)]).toEqual(MISTAKES.map((_mistake, index) => `wrong.ts:${LINES_BEFORE + index}`));
  });

  test("runs a turn, reads a list and understands a refusal", async () => {
    const { stdout } = await run(process.execPath, [path.join(folder, "program.ts"), running.url], { cwd: folder });
    const said = { answer: "Hello to you", tokens: expect.any(Number) as unknown, window: 0 };
    expect(JSON.parse(stdout)).toEqual({ ...said, sessions: ["typed"], code: "invalid_request", words: "word" });
  });
});
