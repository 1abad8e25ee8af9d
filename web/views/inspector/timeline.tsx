import type { Timings } from "../../api/types.ts";
import { showDuration, texts } from "../../texts/texts.ts";

/** The nodes in the order of the graph. */
const ORDER = ["route", "history", "core_memory", "retrieve", "generate", "generate_kb", "generate_agent", "persist"];

const rank = (node: string): number => (ORDER.includes(node) ? ORDER.indexOf(node) : ORDER.length);

export function Timeline({ timings }: { timings: Timings }) {
  const t = texts.value.inspector;
  const { nodes, started, total_ms: total, first_token_ms: firstToken } = timings;
  const rows = Object.entries(nodes)
    .map(([node, ms]) => ({ node, ms, start: started?.[node] ?? 0 }))
    .toSorted((one, other) => one.start - other.start || rank(one.node) - rank(other.node));
  const span = Math.max(total, ...rows.map(({ start, ms }) => start + ms), 1);
  const percent = (ms: number): string => `${Math.min(100, (ms / span) * 100)}%`;
  return (
    <section>
      <h3>{t.timeline}</h3>
      <div class="timeline">
        {rows.map(({ node, ms, start }) => (
          <div class="timeline-row" key={node} data-node={node}>
            <span class="timeline-name" title={node}>
              {t.nodes[node] ?? node}
            </span>
            <span class="timeline-track" aria-hidden="true">
              <span class={`timeline-bar node-${node}`} style={{ insetInlineStart: percent(start), width: percent(ms) }} />
              {firstToken !== null && <span class="timeline-mark" style={{ insetInlineStart: percent(firstToken) }} />}
            </span>
            <span class="timeline-ms">{showDuration(ms)}</span>
          </div>
        ))}
      </div>
      <p class="quiet small">
        {firstToken !== null && (
          <>
            <span class="mark-key" aria-hidden="true" /> {t.firstToken} {showDuration(firstToken)} ·{" "}
          </>
        )}
        {t.total} {showDuration(total)}
      </p>
      {!started && <p class="quiet small">{t.noStarts}</p>}
    </section>
  );
}
