import { execFile } from "node:child_process";
import { describe, expect, test } from "@jest/globals";

const NAMES = ["turn", "load", "growth", "resident", "tokens", "recall", "knowledge", "jobs", "chaos", "peers"];

interface Ended {
  status: number;
  output: string;
  errors: string;
}

/** `npm run bench -- ARGS`, without npm. */
function bench(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, ["benchmarks/run.ts", ...args], { env: { PATH: process.env["PATH"] } }, (error, output, errors) =>
      resolve({ status: Number(error?.code ?? 0), output, errors }),
    );
  });
}

describe("The bench command", () => {
  test("says with --help what each bench asks and how long it takes", async () => {
    const { status, output } = await bench("--help");
    expect(status).toBe(0);
    for (const name of NAMES) expect(output).toMatch(new RegExp(`^  ${name} .*\\(\\d minutes?; --long \\d+\\)$`, "m"));
  });

  test("says with --help what can be chosen for a bench that is named", async () => {
    const { status, output } = await bench("chaos", "--help");
    expect(status).toBe(0);
    expect(output).toMatch(/--seconds NUMBER +seconds of killing: 60, with --long 300/);
    expect(output).not.toContain("--rounds");
  });

  test.each([
    { of: "a bench that is not there", args: ["turns"], problem: "There is no bench turns. There are turn, load," },
    { of: "an option that no bench has", args: ["turn", "--round", "3"], problem: "Unknown option '--round'." },
    { of: "an option of another bench", args: ["turn", "--seed", "3"], problem: "turn: no option --seed." },
    { of: "an option without a number", args: ["turn", "--rounds", "few"], problem: "--rounds few: a whole number is needed." },
  ])("refuses $of in one line, and runs nothing", async ({ args, problem }) => {
    const { status, output, errors } = await bench(...args);
    expect(status).toBe(2);
    expect(output).toBe("");
    expect(errors).toContain(problem);
    expect(errors).toContain("npm run bench -- --help");
    expect(errors).not.toMatch(/^\s+at /m);
  });

  test("leaves out a bench whose data is not there, and says which data", async () => {
    const { status, output } = await bench("recall");
    expect(status).toBe(0);
    expect(output).toContain("recall: left out. It needs CONVERSATION_DATA");
  });

  test("prints with report the published figures of the bench that is named", async () => {
    const { status, output } = await bench("report", "turn");
    expect(status).toBe(0);
    expect(output).toMatch(/^## turn, \d{4}-\d\d-\d\d, commit \w+/m);
    expect(output).toContain("| turn, 1 stream, raw fetch | ms |");
    expect(output).not.toContain("## load");
  });
});
