import { benchSection } from "./bench-section.ts";
import { countGoals, goalTable } from "./figure-table.ts";
import { Html, html, jsonForScript } from "./html.ts";
import { packTree } from "./pack-tree.ts";
import type { ReportedBench } from "./read-results.ts";
import { showDate } from "./show-value.ts";

/** What the page brings along, so that it needs nothing else. */
export interface Assets {
  script: string;
  style: string;
}

function contents(benches: readonly ReportedBench[]): Html {
  const items = benches.map((bench) => {
    const state = bench.failure
      ? html` <strong class="missed">failed</strong>`
      : bench.problem
        ? html` <strong class="missed">unreadable</strong>`
        : "";
    const date = bench.results ? ` – ${showDate(bench.results.date)}` : "";
    return html`<li><a href="#${bench.name}">${bench.name}</a>${state}${date}</li>`;
  });
  return html`<nav aria-label="Benches">
    <ul>
      ${items}
    </ul>
  </nav>`;
}

/** The whole report as one page that fetches nothing. */
export function reportPage(benches: readonly ReportedBench[], builtAt: Date, { script, style }: Assets): string {
  const { met, missed } = countGoals(benches);
  const failed = benches.filter(({ failure, problem }) => failure || problem).length;
  const drawn = benches.map(({ name, results }) => ({
    name,
    plots: results?.plots ?? [],
    ...(results?.tree ? { tree: packTree(results.tree) } : {}),
  }));
  const data = jsonForScript(drawn.filter(({ plots, tree }) => plots.length > 0 || tree !== undefined));
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta
          http-equiv="Content-Security-Policy"
          content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
        />
        <title>Benchmarks of conversation-graph</title>
        <style>
          ${new Html(style.replaceAll("</style", "<\\/style"))}
        </style>
      </head>
      <body>
        <header>
          <h1>Benchmarks of conversation-graph</h1>
          <p>
            ${met} goals met, ${missed} missed${failed > 0 ? `; ${failed} benches failed or cannot be read` : ""}. Written
            ${showDate(builtAt.toISOString())}; each bench has its own date.
          </p>
          <p>
            Percentiles are by nearest rank over all samples. “p50 of the runs” is the lowest and the highest median of the repeated runs or
            rounds: how far a figure can be trusted. What is over the reference was measured in the same run, side by side.
          </p>
        </header>
        <main>
          <section id="goals">
            <h2>Goals</h2>
            ${goalTable(benches)}
          </section>
          ${contents(benches)} ${benches.map(benchSection)}
        </main>
        <script type="application/json" id="report-data">
          ${data}
        </script>
        <script>
          ${new Html(script.replaceAll("</script", "<\\/script"))};
        </script>
      </body>
    </html> `.text;
}
