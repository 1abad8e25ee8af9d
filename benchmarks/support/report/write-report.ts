import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { bundleAssets } from "./bundle-assets.ts";
import { countGoals } from "./figure-table.ts";
import { readResults } from "./read-results.ts";
import { reportPage } from "./report-page.ts";

/** Writes `index.html` and `report.json`, the data behind it, from everything in a folder of results. */
export async function writeReport(results: string, to: string): Promise<{ page: string; met: number; missed: number }> {
  const [benches, assets] = await Promise.all([readResults(results), bundleAssets()]);
  const builtAt = new Date();
  await mkdir(to, { recursive: true });
  const page = path.join(to, "index.html");
  await writeFile(page, reportPage(benches, builtAt, assets));
  const lines = benches.map((bench) => JSON.stringify(bench)).join(",\n");
  await writeFile(path.join(to, "report.json"), `{"builtAt":"${builtAt.toISOString()}","benches":[\n${lines}\n]}\n`);
  return { page, ...countGoals(benches) };
}
