import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";

const run = promisify(execFile);

test("every chunk of dist/ has the names that the sources take from its import()", async () => {
  const program = fileURLToPath(new URL("./dynamic-imports.ts", import.meta.url));
  const cwd = fileURLToPath(new URL("../../", import.meta.url));
  const { stdout } = await run(process.execPath, [program], { cwd, maxBuffer: 2 ** 24 });
  const checked = JSON.parse(stdout) as { file: string; specifier: string; names: string[]; missing: string[] }[];
  const files = [...new Set(checked.map(({ file }) => file))];
  expect(files).toEqual(
    expect.arrayContaining(["agents/mcp/mcp-connection.ts", "agents/tools/web-fetch.ts", "memory/documents/parsing/parse-worker.ts"]),
  );
  expect(checked.filter(({ missing, names }) => missing.length > 0 || names.length === 0)).toEqual([]);
});
