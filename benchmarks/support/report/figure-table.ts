import { html, type Html } from "./html.ts";
import type { ReportedBench, ShownFigure } from "./read-results.ts";
import { numbers, scrollTable, text } from "./scroll-table.ts";
import { showValue } from "./show-value.ts";

type Goal = NonNullable<ShownFigure["goal"]>;

/** "at most 5 ms (p50)". */
function showGoal({ atMost, atLeast, of = "p50" }: Goal, unit: string): string {
  const bounds = [
    ...(atMost === undefined ? [] : [`at most ${showValue(atMost)}`]),
    ...(atLeast === undefined ? [] : [`at least ${showValue(atLeast)}`]),
  ];
  return `${bounds.join(", ")} ${unit} (${of})`;
}

const showVerdict = ({ met }: Goal): Html => (met ? html`<span class="met">met</span>` : html`<strong class="missed">missed</strong>`);

/** What a figure has more than its reference, and how many times as much, by the medians. */
function overReference({ p50, unit, reference }: ShownFigure, all: readonly ShownFigure[]): string {
  const of = all.find(({ name }) => name === reference);
  if (of?.p50 === undefined || of.p50 === null || p50 === null) return "";
  const difference = p50 - of.p50;
  const sign = difference < 0 ? "−" : "+";
  const times = of.p50 === 0 ? "" : ` (× ${showValue(p50 / of.p50)})`;
  return `${sign}${showValue(Math.abs(difference))} ${unit}${times}`;
}

/** Every figure of a bench, with its spread over the repeated runs and what it is held against. */
export function figureTable(bench: string, figures: readonly ShownFigure[]): Html {
  const rows = figures.map((figure) => {
    const { name, unit, p50, p95, p99, spread, samples, reference, goal } = figure;
    const over = overReference(figure, figures);
    return html`<tr>
      <th scope="row">${name}</th>
      <td>${unit}</td>
      <td class="number">${showValue(p50)}</td>
      <td class="number">${showValue(p95)}</td>
      <td class="number">${showValue(p99)}</td>
      <td class="number">${showValue(spread.lowest)} – ${showValue(spread.highest)}</td>
      <td class="number">${showValue(samples)}</td>
      <td>
        ${reference === undefined ? "" : over === "" ? `no figure ${reference} in this run` : html`${over}<br /><small>${reference}</small>`}
      </td>
      <td>${goal ? html`${showGoal(goal, unit)}: ${showVerdict(goal)}` : ""}</td>
    </tr>`;
  });
  const columns = [
    ...text("figure", "unit"),
    ...numbers("p50", "p95", "p99", "p50 of the runs", "samples"),
    ...text("over the reference", "goal"),
  ];
  return scrollTable(`Figures of ${bench}`, columns, rows);
}

/** All goals of all benches: those that were missed first. */
export function goalTable(benches: readonly ReportedBench[]): Html {
  const goals = benches.flatMap(({ name: bench, results }) =>
    (results?.figures ?? []).flatMap((figure) => (figure.goal ? [{ bench, figure, goal: figure.goal, all: results?.figures ?? [] }] : [])),
  );
  const rows = goals
    .toSorted((one, other) => Number(one.goal.met) - Number(other.goal.met))
    .map(
      ({ bench, figure, goal, all }) =>
        html`<tr>
          <td>${showVerdict(goal)}</td>
          <th scope="row">${figure.name}</th>
          <td class="number">${showValue(figure[goal.of ?? "p50"])} ${figure.unit}</td>
          <td>${showGoal(goal, figure.unit)}</td>
          <td class="number">${showValue(figure.spread.lowest)} – ${showValue(figure.spread.highest)}</td>
          <td>${overReference(figure, all)}</td>
          <td><a href="#${bench}">${bench}</a></td>
        </tr>`,
    );
  const columns = [
    ...text("verdict", "figure"),
    ...numbers("measured"),
    ...text("goal"),
    ...numbers("p50 of the runs"),
    ...text("over the reference", "bench"),
  ];
  return scrollTable("Goals, those that were missed first", columns, rows, "Goals");
}

export function countGoals(benches: readonly ReportedBench[]): { met: number; missed: number } {
  const goals = benches.flatMap(({ results }) => (results?.figures ?? []).flatMap(({ goal }) => goal ?? []));
  return { met: goals.filter(({ met }) => met).length, missed: goals.filter(({ met }) => !met).length };
}
