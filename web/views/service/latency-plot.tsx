import { useEffect, useRef, useState } from "preact/hooks";
import type { Status } from "../../api/types.ts";
import { isDark } from "../../state/settings.ts";
import { showDuration, texts } from "../../texts/texts.ts";
import type { Plot, PlotColours } from "./draw-latency.ts";

function colours(): PlotColours {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return { text: read("--quiet"), grid: read("--line"), total: read("--series-a"), firstToken: read("--series-b") };
}

/** The latency of the last turns. The library that draws it is loaded when it is needed. */
export function LatencyPlot({ turns }: { turns: Status["turns"] }) {
  const t = texts.value.service;
  const holder = useRef<HTMLDivElement>(null);
  const [plot, setPlot] = useState<Plot | null>(null);
  const dark = isDark();

  useEffect(() => {
    let isWanted = true;
    let drawn: Plot | undefined;
    void import("./draw-latency.ts").then(({ drawLatency }) => {
      if (!isWanted || !holder.current) return;
      drawn = drawLatency(holder.current, colours(), { turn: t.turn, total: t.total, firstToken: t.firstToken, show: showDuration });
      setPlot(drawn);
    });
    return () => {
      isWanted = false;
      drawn?.close();
      setPlot(null);
    };
  }, [dark, t]);
  useEffect(() => plot?.show(turns), [plot, turns]);

  return <div class="plot" ref={holder} role="img" aria-label={`${t.latency}: ${t.total}, ${t.firstToken}`} />;
}
