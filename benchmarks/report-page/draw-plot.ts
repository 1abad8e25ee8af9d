import uPlot from "uplot";
import { colourOf, inkOf } from "./colours.ts";

/** See `Plot` of benchmarks/support/results.ts; the page gets it as JSON. */
export interface PlotData {
  x: { label: string; values: number[] };
  y: { label: string; unit: string };
  series: { name: string; values: (number | null)[] }[];
  log?: "x" | "y" | "both";
}

const HEIGHT = 300;
const LOGARITHMIC = 3;
const LINEAR = 1;

const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });

/** Draws into an element as wide as it is. Returns what takes the picture away again. */
export function drawPlot(into: HTMLElement, { x, y, series, log }: PlotData): () => void {
  const { text, line } = inkOf(into);
  const scale = (isLog: boolean) => ({ time: false, distr: isLog ? LOGARITHMIC : LINEAR }) as uPlot.Scale;
  const axis = (label: string): uPlot.Axis => ({
    label,
    stroke: text,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1 },
    values: (_, splits) => splits.map((split) => (split === null ? null : short.format(split))),
  });
  const [isLogX, isLogY] = [log === "x" || log === "both", log === "y" || log === "both"];
  const options: uPlot.Options = {
    width: into.clientWidth,
    height: HEIGHT,
    scales: { x: scale(isLogX), y: isLogY ? scale(true) : { range: (_, least, most) => [Math.min(0, least), most * 1.05 || 1] } },
    axes: [axis(x.label), { ...axis(`${y.label} (${y.unit})`), size: 64 }],
    series: [
      { label: x.label, value: (_, value) => (value === null ? "–" : value.toLocaleString("en")) },
      ...series.map(({ name }, place) => ({
        label: name,
        stroke: colourOf(place),
        width: 2,
        dash: place >= 5 ? [6, 4] : [],
        points: { show: x.values.length <= 60, size: 6 },
        spanGaps: true,
        value: (_: uPlot, value: number | null) =>
          value === null ? "–" : `${value.toLocaleString("en", { maximumSignificantDigits: 4 })} ${y.unit}`,
      })),
    ],
  };
  const plot = new uPlot(options, [x.values, ...series.map(({ values }) => values)], into);
  return () => plot.destroy();
}
