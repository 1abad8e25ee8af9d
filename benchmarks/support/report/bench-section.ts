import { figureTable } from "./figure-table.ts";
import { genericData } from "./generic-data.ts";
import { html, type Html } from "./html.ts";
import type { ReportedBench, ShownPlot, ShownResults } from "./read-results.ts";
import { numbers, scrollTable } from "./scroll-table.ts";
import { showDate, showValue } from "./show-value.ts";

/** The fields that have a place of their own; what a bench keeps besides is shown as it is. */
const PLACED = new Set(["date", "machine", "commit", "figures", "plots", "notes", "tree"]);

function measuredOn({ date, machine, commit }: ShownResults): Html {
  const where = `${machine.cores} cores (${machine.cpu ?? "unknown processor"}), Node ${machine.node.replace("v", "")}`;
  return html`<p class="measured">
    <time datetime="${date}">${showDate(date)}</time>, ${where}, ${commit === undefined ? "commit not recorded" : `commit ${commit}`}
  </p>`;
}

/** The values of a plot, for those who cannot see it and for paper. */
function plotTable({ title, x, y, series }: ShownPlot): Html {
  const rows = x.values.map(
    (at, index) =>
      html`<tr>
        <th scope="row" class="number">${showValue(at)}</th>
        ${series.map(({ values }) => html`<td class="number">${showValue(values[index])}</td>`)}
      </tr>`,
  );
  return html`<details>
    <summary>${title}: values</summary>
    ${scrollTable(`${title}, ${y.label} in ${y.unit}`, numbers(x.label, ...series.map(({ name }) => name)), rows, `Values of ${title}`)}
  </details>`;
}

function plots(bench: string, all: readonly ShownPlot[]): Html[] {
  return all.map((plot, index) => {
    const label = `${plot.title}: ${plot.y.label} (${plot.y.unit}) by ${plot.x.label}; its values are in the table below`;
    return html`<figure>
      <figcaption>${plot.title}</figcaption>
      <div class="plot" role="img" aria-label="${label}" data-bench="${bench}" data-plot="${index}"></div>
      ${plotTable(plot)}
    </figure>`;
  });
}

function flameGraph(bench: string): Html {
  return html`<h3>Flame graph</h3>
    <p>
      Each box is a function, as wide as the time it took with all it calls; what it calls is below it. A click brings a box to the full
      width. The shares by package and the functions with the most time of their own are in the tables below.
    </p>
    <p class="flame-tools">
      <label>Find <input type="search" data-flame-search="${bench}" /></label>
      <button type="button" data-flame-reset="${bench}">Whole graph</button>
      <output data-flame-details="${bench}" aria-live="polite"></output>
    </p>
    <div class="flame" data-flame="${bench}"></div>`;
}

function trouble({ problem, failure }: ReportedBench): Html {
  const failed = failure
    ? html`<div class="trouble">
        <p><strong>The last run failed</strong>${failure.date === "" ? "" : `, ${showDate(failure.date)}`}:</p>
        <pre>${failure.error}</pre>
      </div>`
    : "";
  const broken = problem
    ? html`<div class="trouble">
        <p><strong>The results cannot be read:</strong></p>
        <pre>${problem}</pre>
      </div>`
    : "";
  return html`${failed}${broken}`;
}

/** One bench: what it found, its pictures, what a reader must know, and all that it keeps besides. */
export function benchSection(bench: ReportedBench): Html {
  const { name, results } = bench;
  const heading = html`<h2>${name}</h2>
    ${trouble(bench)}`;
  if (!results) return html`<section id="${name}">${heading}</section>`;
  const rest = Object.fromEntries(Object.entries(results).filter(([field]) => !PLACED.has(field)));
  const others = Object.keys(rest).length > 0 ? genericData(rest) : "";
  const isDetail = results.figures.length > 0 && !results.tree;
  const shownRest =
    isDetail && others !== ""
      ? html`<details>
          <summary>All else that ${name} keeps</summary>
          ${others}
        </details>`
      : others;
  return html`<section id="${name}">
    ${heading} ${measuredOn(results)} ${results.figures.length > 0 ? figureTable(name, results.figures) : ""}
    ${
      results.notes.length > 0
        ? html`<ul class="notes">
            ${results.notes.map((note) => html`<li>${note}</li>`)}
          </ul>`
        : ""
    }
    ${plots(name, results.plots)} ${results.tree ? flameGraph(name) : ""} ${shownRest}
  </section>`;
}
