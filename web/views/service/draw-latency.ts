import uPlot from "uplot";

export interface PlotColours {
  text: string;
  grid: string;
  total: string;
  firstToken: string;
}

interface PlotTexts {
  turn: string;
  total: string;
  firstToken: string;
  show: (ms: number) => string;
}

export interface Plot {
  /** Draws the turns, the oldest at the left. */
  show(turns: readonly { at: string; total_ms: number | null; first_token_ms: number | null }[]): void;
  close(): void;
}

const HEIGHT = 260;
const FONT = "12px system-ui, sans-serif";

export function drawLatency(holder: HTMLElement, colours: PlotColours, texts: PlotTexts): Plot {
  const value = (_plot: uPlot, ms: number | null): string => (ms === null ? "–" : texts.show(ms));
  const axis = { stroke: colours.text, font: FONT, grid: { stroke: colours.grid, width: 1 }, ticks: { show: false } };
  const plot = new uPlot(
    {
      width: Math.max(holder.clientWidth, 200),
      height: HEIGHT,
      scales: { x: { time: false }, y: { range: (_self, _low, high) => [0, Math.max(high * 1.1, 10)] } },
      axes: [
        { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100] },
        { ...axis, size: 64, values: (_self, ticks) => ticks.map((ms) => texts.show(ms)) },
      ],
      legend: { markers: { fill: (_self, index) => [colours.text, colours.total, colours.firstToken][index] ?? colours.text } },
      series: [
        { label: texts.turn, value: (_self, turn: number | null) => turn ?? "–" },
        { label: texts.total, stroke: colours.total, width: 2, points: { size: 5 }, value },
        { label: texts.firstToken, stroke: colours.firstToken, width: 2, points: { size: 5 }, value },
      ],
    },
    [[], [], []],
    holder,
  );
  const resizing = new ResizeObserver(() => plot.setSize({ width: Math.max(holder.clientWidth, 200), height: HEIGHT }));
  resizing.observe(holder);
  return {
    show(turns) {
      const inOrder = turns.toSorted((one, other) => one.at.localeCompare(other.at));
      plot.setData([
        inOrder.map((_turn, index) => index + 1),
        inOrder.map(({ total_ms }) => total_ms),
        inOrder.map(({ first_token_ms }) => first_token_ms),
      ]);
    },
    close() {
      resizing.disconnect();
      plot.destroy();
    },
  };
}
