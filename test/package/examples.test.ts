import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

const example = (name: string) => run(process.execPath, [`examples/${name}.ts`], { cwd: root, env: { PATH: process.env["PATH"] } });

describe("the example", () => {
  test("one-turn answers from what was said before, needs no environment, and ends by itself", async () => {
    const { stdout, stderr } = await example("one-turn");
    expect(stdout).toContain('You said earlier: "My name is Ada and I live in Lisbon."');
    expect(stderr).toBe("");
  });

  test("across-sessions remembers in another session, needs no environment, and ends by itself", async () => {
    expect(await example("across-sessions")).toEqual({ stdout: 'What I know about you: "Lives in Lisbon."\n', stderr: "" });
  });

  test("unit-prices calculates from a price list, and leaves what its handler cannot answer to the general generator", async () => {
    const { stdout, stderr } = await example("unit-prices");
    expect(stdout).toContain("12 × box of 100 of M4 screw at 7.50 euros is 90.00 euros [1].\n(Price list)");
    expect(stdout).toMatch(/\[The handler of "prices" failed[^\]]*\] "Price list" says: [^\n]*\n\(Price list\)/);
    expect(stderr).toBe("");
  });

  test("one-turn is shorter than 30 lines", async () => {
    expect((await readFile(`${root}examples/one-turn.ts`, "utf8")).trimEnd().split("\n").length).toBeLessThan(30);
  });
});
