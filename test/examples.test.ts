import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../", import.meta.url));

describe("the examples", () => {
  test("one-turn answers from what was said before, with nothing in the environment, and ends by itself", async () => {
    const { stdout, stderr } = await run(process.execPath, ["examples/one-turn.ts"], { cwd: root, env: { PATH: process.env["PATH"] } });
    expect(stdout).toContain('You said earlier: "My name is Ada and I live in Lisbon."');
    expect(stderr).toBe("");
  });

  test("each is shorter than 30 lines", async () => {
    for (const file of await readdir(`${root}examples`)) {
      const lines = (await readFile(`${root}examples/${file}`, "utf8")).trimEnd().split("\n").length;
      expect({ file, short: lines < 30 }).toEqual({ file, short: true });
    }
  });
});
