import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { figureOf } from "../../benchmarks/support/figures.ts";

const run = promisify(execFile);
const WRITE_REPORT = pathToFileURL(path.resolve("benchmarks/support/report/write-report.ts")).href;
const about = { date: "2026-01-02T03:04:05.000Z", machine: { cpu: "a processor", cores: 2, node: "v24.0.0" }, commit: "abc1234" };
const HOSTILE = `<img src="http://example.org/x.png" onerror="alert(1)"> & </script>`;

const raw = figureOf("raw call", "ms", [[1, 2, 3]]);
const quick = figureOf("quick turn", "ms", [[4], [6]], { reference: "raw call", goal: { atMost: 5 } });
const slow = figureOf("slow turn", "ms", [[40], [60]], { reference: "raw call", goal: { atMost: 5, of: "p95" } });
const plot = {
  title: `Growth ${HOSTILE}`,
  x: { label: "messages", values: [1, 10] },
  y: { label: "turn", unit: "ms" },
  series: [{ name: "turn", values: [3, null] }],
  log: "x",
};
const tree = [
  { depth: 0, name: "all turns", package: "root", selfMs: 1, totalMs: 3 },
  { depth: 1, name: HOSTILE, package: "zod", selfMs: 2, totalMs: 2 },
];

let folder: string;
let page: string;
let data: { benches: { name: string; results?: { figures: unknown[] }; problem?: string }[] };

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "report-"));
  const files: Record<string, unknown> = {
    turn: { ...about, figures: [raw, quick, slow], plots: [plot], notes: [HOSTILE], tree, detail: { [HOSTILE]: HOSTILE } },
    old: { date: about.date, machine: about.machine, rows: [{ name: "an older row", ms: { p50: 12.345 }, many: [{ a: 1 }] }] },
    wrong: { ...about, figures: [{ name: "no unit" }] },
    "recall.failure": { date: about.date, error: `Error: ${HOSTILE}` },
  };
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(folder, `${name}.json`), JSON.stringify(content));
  await writeFile(path.join(folder, "broken.json"), '{"date": "2026-');
  // In a process of its own: what bundles the page's script does not work among the globals of a test.
  const script = `const { writeReport } = await import(${JSON.stringify(WRITE_REPORT)}); await writeReport(${JSON.stringify(folder)}, ${JSON.stringify(path.join(folder, "report"))});`;
  await run(process.execPath, ["--input-type=module", "-e", script]);
  page = await readFile(path.join(folder, "report", "index.html"), "utf8");
  data = JSON.parse(await readFile(path.join(folder, "report", "report.json"), "utf8")) as typeof data;
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** The section of one bench. */
const sectionOf = (name: string): string => new RegExp(`<section id="${name}">[^]*?</section>`).exec(page)?.[0] ?? "";
/** What a reader sees of a row that begins with a name. */
const rowOf = (table: string, name: string): string =>
  (table.match(/<tr>[^]*?<\/tr>/g) ?? [])
    .map((row) =>
      row
        .replace(/<[^>]*>/g, " ")
        .replace(/\s+/g, " ")
        .trim(),
    )
    .find((row) => row.includes(name)) ?? "";

describe("The report", () => {
  test("is one page that fetches nothing", () => {
    const markup = page.replace(/<script[^>]*>[^]*?<\/script>/g, "");
    expect(markup).not.toMatch(/<(img|iframe|link|object|embed|audio|video)\b/i);
    expect(markup).not.toMatch(/\b(src|href|action|data)\s*=\s*["']?\s*(https?:)?\/\//i);
    expect(page).not.toMatch(/url\(\s*["']?\s*(https?:)?\/\//i);
    expect(page).not.toMatch(/@import/);
    expect(page).toContain("default-src 'none'");
    expect(page.length).toBeLessThan(400_000);
  });

  test("tells of a goal that was missed that it was missed, before those that were met", () => {
    const goals = sectionOf("goals");
    expect(rowOf(goals, "slow turn")).toMatch(/^missed slow turn 60 ms at most 5 ms \(p95\) 40 – 60/);
    expect(rowOf(goals, "quick turn")).toMatch(/^met quick turn 4 ms at most 5 ms \(p50\)/);
    expect(goals.indexOf("slow turn")).toBeLessThan(goals.indexOf("quick turn"));
    expect(page).toContain("1 goals met, 1 missed");
  });

  test("shows a figure with its spread and with what it has more than its reference", () => {
    expect(rowOf(sectionOf("turn"), "slow turn")).toBe("slow turn ms 40 60 60 40 – 60 2 +38 ms (× 20) raw call at most 5 ms (p95): missed");
    expect(sectionOf("turn")).toContain("commit abc1234");
  });

  test("shows results of which it knows no figures row by row, with their date", () => {
    expect(sectionOf("old")).toContain("2 Jan 2026, 03:04 UTC");
    expect(sectionOf("old")).toContain("an older row");
    expect(sectionOf("old")).toContain("12.3");
    expect(data.benches.find(({ name }) => name === "old")?.results).toMatchObject({ rows: [{ ms: { p50: 12.345 } }] });
  });

  test("tells of files that cannot be used, and of benches that failed", () => {
    expect(sectionOf("broken")).toContain("broken.json is no JSON");
    expect(sectionOf("wrong")).toContain("wrong.json is not as results are written");
    expect(sectionOf("recall")).toContain("The last run failed");
    expect(page).toContain("3 benches failed or cannot be read");
    expect(data.benches.map(({ name }) => name)).toEqual(["broken", "old", "recall", "turn", "wrong"]);
  });

  test("escapes whatever stands in results", () => {
    expect(page).not.toContain("<img");
    expect(sectionOf("turn").split("&lt;img src=").length).toBeGreaterThan(4);
    const [, json = ""] = /<script type="application\/json" id="report-data">([^]*?)<\/script>/.exec(page) ?? [];
    const [turn] = JSON.parse(json) as { plots: { title: string }[]; tree: { names: string[] } }[];
    expect(turn?.plots[0]?.title).toBe(`Growth ${HOSTILE}`);
    expect(turn?.tree.names).toContain(HOSTILE);
  });
});
