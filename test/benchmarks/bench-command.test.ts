import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { defineBench } from "../../benchmarks/support/bench.ts";
import { helpOf, readCommand } from "../../benchmarks/support/command.ts";
import { figureOf } from "../../benchmarks/support/figures.ts";
import { reportLines, writeResults } from "../../benchmarks/support/results.ts";

const run = promisify(execFile);
type Ended = { code: number; stdout: string; stderr: string };

const NAMES = ["turn", "load", "growth", "resident", "tokens", "recall", "jobs", "agents", "chaos", "peers", "against"];

const speed = defineBench({
  asks: "How fast is it",
  minutes: { short: 1, long: 9 },
  numbers: { rounds: { of: "rounds of ten turns", short: 2, long: 20 } },
  run: async () => ({ figures: [] }),
});
const crash = defineBench({
  asks: "Does it break",
  minutes: { short: 2, long: 6 },
  numbers: { seed: { of: "seed of chance", short: 0, long: 0 } },
  environment: { DATA: "a folder" },
  run: async () => ({ figures: [] }),
});
const beside = defineBench({
  asks: "Is it better",
  argument: { name: "COMMIT", of: "a commit" },
  minutes: { short: 3, long: 3 },
  numbers: {},
  run: async () => ({ figures: [] }),
});
const benches = { speed, crash, beside };

describe("the arguments of the bench command", () => {
  test("run all benches when none is named", () => {
    expect(readCommand([], benches)).toEqual({ kind: "run", names: ["speed", "crash"], numbers: {}, isLong: false });
  });

  test("run the benches that are named, with their numbers", () => {
    const command = readCommand(["speed", "--rounds", "3", "--long"], benches);
    expect(command).toEqual({ kind: "run", names: ["speed"], numbers: { rounds: 3 }, isLong: true });
  });

  test("hand the word after its name to a bench that needs one, and such a bench is not among all benches", () => {
    expect(readCommand(["beside", "abc", "speed"], benches)).toMatchObject({ names: ["beside", "speed"], argument: "abc" });
    expect(readCommand(["beside"], benches)).toEqual({ kind: "refused", problem: "beside: name a commit behind it." });
    expect(helpOf("beside", beside).join("\n")).toContain("npm run bench beside -- COMMIT [--long]");
  });

  test.each([
    { of: "a bench that is not there", args: ["speeds"], problem: "There is no bench speeds. There are speed, crash, beside." },
    { of: "a bench named like a property of every object", args: ["toString"], problem: "There is no bench toString." },
    { of: "an option that no bench has", args: ["speed", "--round", "3"], problem: "Unknown option '--round'." },
    { of: "an option of another bench", args: ["speed", "--seed", "3"], problem: "speed: no option --seed." },
    { of: "an option whose value is no number", args: ["speed", "--rounds", "few"], problem: "--rounds few: a whole number is needed." },
    { of: "an option without a value", args: ["speed", "--rounds"], problem: "Option '--rounds <value>' argument missing" },
  ])("are refused when they name $of", ({ args, problem }) => {
    const command = readCommand(args, benches);
    expect(command.kind === "refused" && command.problem).toContain(problem);
  });

  test("list with --help the options and the environment of a bench, and no other's", () => {
    expect(readCommand(["crash", "--help"], benches)).toEqual({ kind: "help", names: ["crash"] });
    const text = helpOf("crash", crash).join("\n");
    expect(text).toContain("Does it break. Takes 2 minutes on two quiet cores, with --long 6 minutes.");
    expect(text).toMatch(/--seed NUMBER +seed of chance: 0, with --long 0/);
    expect(text).toContain("DATA: a folder");
    expect(text).not.toContain("--rounds");
  });
});

describe("npm run bench", () => {
  test("says with --help what each of the eleven benches asks and how long it takes", async () => {
    const { stdout } = await run(process.execPath, ["benchmarks/run.ts", "--help"]);
    for (const name of NAMES) expect(stdout).toMatch(new RegExp(`^  ${name} .*\\(\\d+ minutes?; --long \\d+\\)$`, "m"));
  });

  test("shows by its report each bench's last published figures, or how to publish some", async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "results-"));
    try {
      const results = pathToFileURL(`${folder}/new/`);
      await writeResults("speed", { figures: [figureOf("a turn", "ms", [[4, 5, 6]])], notes: ["Two cores."] }, results);
      expect((await reportLines("speed", results)).join("\n")).toMatch(
        /^\n## speed, \d{4}-\d\d-\d\d, commit \w+[^]*\| a turn \| ms \| 5\.0 [^]*Two cores\.$/,
      );
      expect(await reportLines("crash", results)).toContainEqual(expect.stringContaining("npm run bench crash -- --long"));
    } finally {
      await rm(folder, { recursive: true });
    }
    const { stdout } = await run(process.execPath, ["benchmarks/run.ts", "report", "turn"]);
    expect(stdout).toMatch(/^(## )?turn[,:]/m);
    expect(stdout).not.toMatch(/^(## )?load[,:]/m);
  });

  test("prints what is wrong with its arguments on standard error, and ends with 2", async () => {
    const ended = (await run(process.execPath, ["benchmarks/run.ts", "turns"]).catch((error: unknown) => error)) as Ended;
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain("There is no bench turns.");
    expect(ended.stderr).toContain("npm run bench -- --help");
    expect(ended.stderr).not.toMatch(/^\s+at /m);
  });
});
