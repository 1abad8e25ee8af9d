import { useState } from "preact/hooks";
import { readAgentStats } from "../../api/view-endpoints.ts";
import type { AgentStats } from "../../api/types.ts";
import { showCost, showDuration, showNumber, texts } from "../../texts/texts.ts";
import { LoadState, useLoaded } from "../loaded.tsx";

function rowsOf({ invocations, as_member, success_rate, avg_ms, p95_ms, tool_calls, tokens, cost }: AgentStats): [string, string][] {
  const t = texts.value.agents.figure;
  return [
    [t.runs, showNumber(invocations)],
    [t.asMember, showNumber(as_member)],
    [t.success, `${showNumber((success_rate ?? 0) * 100)} %`],
    [t.time, showDuration(avg_ms ?? 0)],
    [t.longest, showDuration(p95_ms ?? 0)],
    [t.toolCalls, showNumber(tool_calls)],
    [t.tokens, showNumber(tokens)],
    [texts.value.context.cost, showCost(cost)],
  ];
}

function Figures({ name }: { name: string }) {
  const loaded = useLoaded(() => readAgentStats(name), [name]);
  return (
    <LoadState of={loaded}>
      {(stats) =>
        stats.invocations === 0 ? (
          <p class="quiet">{texts.value.agents.noRuns}</p>
        ) : (
          <dl class="counts">
            {rowsOf(stats).map(([label, value]) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        )
      }
    </LoadState>
  );
}

/** What an agent did in the last 30 days, read when it is unfolded. */
export function AgentFigures({ name }: { name: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details class="figures" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{texts.value.agents.figures}</summary>
      {isOpen && <Figures name={name} />}
    </details>
  );
}
