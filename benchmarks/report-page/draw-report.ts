import "uplot/dist/uPlot.min.css";
import "./report.css";
import { drawFlame } from "./draw-flame.ts";
import { drawPlot, type PlotData } from "./draw-plot.ts";
import type { PackedTree } from "./packed-tree.ts";

interface DrawnBench {
  name: string;
  plots: PlotData[];
  tree?: PackedTree;
}

const benches = JSON.parse(document.querySelector("#report-data")?.textContent ?? "[]") as DrawnBench[];
const benchOf = (name: string | undefined): DrawnBench | undefined => benches.find((bench) => bench.name === name);

let taken: (() => void)[] = [];

/** All plots anew: in the colours and the width of this moment. */
function drawPlots(): void {
  for (const take of taken) take();
  taken = [...document.querySelectorAll<HTMLElement>(".plot")].flatMap((into) => {
    const plot = benchOf(into.dataset["bench"])?.plots[Number(into.dataset["plot"])];
    return plot ? [drawPlot(into, plot)] : [];
  });
}

for (const into of document.querySelectorAll<HTMLElement>(".flame")) {
  const { flame: name } = into.dataset;
  const tree = benchOf(name)?.tree;
  const details = document.querySelector(`[data-flame-details="${name}"]`);
  if (!tree || !details) continue;
  const graph = drawFlame(into, tree, (text) => (details.textContent = text));
  const search = document.querySelector<HTMLInputElement>(`[data-flame-search="${name}"]`);
  search?.addEventListener("input", () => (search.value === "" ? graph.clear() : graph.search(search.value)));
  document.querySelector(`[data-flame-reset="${name}"]`)?.addEventListener("click", () => graph.resetZoom());
}

/** Paper is white, whatever the screen is. */
function forPaper(isPaper: boolean): void {
  document.documentElement.classList.toggle("on-paper", isPaper);
  for (const details of document.querySelectorAll("details")) details.classList.toggle("for-paper", isPaper);
  drawPlots();
}

let width = 0;
function drawWhenWider(): void {
  if (document.body.clientWidth === width) return;
  width = document.body.clientWidth;
  drawPlots();
}

drawWhenWider();
addEventListener("resize", drawWhenWider);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawPlots);
addEventListener("beforeprint", () => forPaper(true));
addEventListener("afterprint", () => forPaper(false));
