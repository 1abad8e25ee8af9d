import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

const program = (message: string): string => `
import { createConversationGraph, startTurn, type ConversationGraphParts } from "conversation-graph";
export const turn = (parts: ConversationGraphParts) => startTurn(createConversationGraph(parts), { userId: "a", sessionId: "b", message: ${message} });
`;

describe("the package, as another project sees it", () => {
  let project: string;
  beforeAll(async () => {
    project = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-package-"));
    await mkdir(path.join(project, "node_modules"));
    await symlink(root, path.join(project, "node_modules", "conversation-graph"));
    await writeFile(path.join(project, "package.json"), JSON.stringify({ type: "module" }));
    const compilerOptions = { strict: true, noEmit: true, skipLibCheck: true, module: "nodenext", target: "es2023", types: [] };
    await writeFile(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  });
  afterAll(() => rm(project, { recursive: true, force: true }));

  test("importing it opens nothing, prints nothing, needs no environment and lets the process end", async () => {
    const script = `
      const library = await import("conversation-graph");
      const open = process.getActiveResourcesInfo().filter((kind) => kind !== "PipeWrap"); // its own output
      console.log(typeof library.createConversationGraph, open.join());`;
    const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: project, env: {} });
    expect({ stdout, stderr }).toEqual({ stdout: "function \n", stderr: "" });
  });

  test("its types are found, and a misuse does not compile", async () => {
    await writeFile(path.join(project, "right.ts"), program('"hello"'));
    await writeFile(path.join(project, "wrong.ts"), program("3"));
    const compiler = path.join(root, "node_modules/typescript/bin/tsc");
    const failure = await run(process.execPath, [compiler, "-p", "."], { cwd: project }).then(
      () => "it compiled",
      (error: { stdout: string }) => error.stdout,
    );
    expect(failure).toContain("wrong.ts(3,");
    expect(failure).toContain("Type 'number' is not assignable to type 'string'");
    expect(failure).not.toContain("right.ts");
  });
});
