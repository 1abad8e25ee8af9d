export interface Bar {
  /** The label of its place below the chart. */
  at: string;
  /** Shown to whoever points at it. */
  title: string;
  /** From below; they add up. */
  parts: readonly number[];
}

interface BarsProps {
  label: string;
  bars: readonly Bar[];
  parts: readonly string[];
  show: (value: number) => string;
}

const LINES = [1, 0.5, 0];
const SERIES = ["b", "a"] as const;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** Bars of two parts. A table or figures beside them tell the same in words. */
export function Bars({ label, bars, parts, show }: BarsProps) {
  const highest = Math.max(...bars.map((bar) => sum(bar.parts)), 0) || 1;
  const percent = (value: number): string => `${(value / highest) * 100}%`;
  return (
    <div class="plot" role="img" aria-label={label}>
      <div class="plot-lines" aria-hidden="true">
        {LINES.map((share) => (
          <span key={share}>{show(highest * share)}</span>
        ))}
      </div>
      <div class="plot-bars">
        {bars.map(({ at, title, parts: values }) => (
          <div key={at} class="plot-bar" title={title}>
            {values.map((value, index) => (
              <i key={index} class={`series-${SERIES[index] ?? "a"}`} style={{ height: percent(value) }} />
            ))}
          </div>
        ))}
      </div>
      <div class="plot-foot quiet small">
        <span>{bars[0]?.at}</span>
        <span class="plot-key">
          {parts.map((name, index) => (
            <span key={name}>
              <i class={`swatch series-${SERIES[index] ?? "a"}`} />
              {name}
            </span>
          ))}
        </span>
        <span>{bars.at(-1)?.at}</span>
      </div>
    </div>
  );
}
