import { useState } from "preact/hooks";
import { readContext, readModels } from "../../api/endpoints.ts";
import type { Context, ModelFacts } from "../../api/types.ts";
import { isOver } from "../../state/turns/live-turn.ts";
import { conversationId, turnsHere } from "../../state/thread/thread.ts";
import { showCost, showNumber, texts } from "../../texts/texts.ts";
import { LoadState, useLoaded } from "../loaded.tsx";
import { TokenParts } from "../token-parts.tsx";
import { CompressedNote } from "./compressed-note.tsx";

function Fact({ name, value, source }: { name: string; value: string | null; source: string | undefined }) {
  const t = texts.value.context;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{value ?? t.unknown}</td>
      <td class="quiet small">{value !== null && source !== undefined && (t.sources[source] ?? source)}</td>
    </tr>
  );
}

function Facts({ facts: { name, context_window, max_output_tokens, prices, capabilities, sources } }: { facts: ModelFacts }) {
  const t = texts.value.context;
  const tokens = (count: number | null): string | null => (count === null ? null : texts.value.inspector.tokens(showNumber(count)));
  return (
    <table class="token-table facts">
      <caption dir="auto">{t.model(name)}</caption>
      <tbody>
        <Fact name={t.window} value={tokens(context_window)} source={sources.context_window} />
        <Fact name={t.longest} value={tokens(max_output_tokens)} source={sources.max_output_tokens} />
        <Fact
          name={t.prices}
          value={prices && t.perMillion(showNumber(prices.input, 4), showNumber(prices.output, 4))}
          source={sources.prices}
        />
        <Fact name={t.capabilities} value={capabilities && capabilities.join(", ")} source={sources.capabilities} />
      </tbody>
    </table>
  );
}

function ModelOf({ name }: { name: string }) {
  const loaded = useLoaded(readModels, [name]);
  return (
    <LoadState of={loaded}>
      {({ models }) => {
        const facts = models.find((model) => model.name === name);
        return facts ? <Facts facts={facts} /> : null;
      }}
    </LoadState>
  );
}

function Opened({ context }: { context: Context }) {
  const t = texts.value.context;
  const { prompt_tokens, completion_tokens, cached_tokens, cost, unpriced_turns } = context;
  const compressed = turnsHere.value.flatMap((turn) => turn.compressed.value);
  return (
    <div class="gauge-body" role="region" tabIndex={0} aria-label={t.details}>
      {context.parts ? <TokenParts counts={context.parts} /> : <p class="quiet">{t.empty}</p>}
      <p class="small">{t.left(showNumber(context.remaining_tokens))}</p>
      <p class="small">{t.used(showNumber(prompt_tokens), showNumber(completion_tokens), showNumber(cached_tokens))}</p>
      <p class="small" data-testid="conversation-cost">
        {t.costOfAll}: {showCost(cost)}
        {cost !== null && unpriced_turns > 0 && ` ${t.without(unpriced_turns)}`}
      </p>
      {compressed.map((event, index) => (
        <CompressedNote key={index} event={event} />
      ))}
      <ModelOf name={context.model} />
    </div>
  );
}

function Gauge({ context }: { context: Context }) {
  const t = texts.value.context;
  const [isOpen, setIsOpen] = useState(false);
  const percent = Math.round(context.usage_ratio * 100);
  const level = context.saturated ? "saturated" : context.warned ? "warned" : "calm";
  return (
    <div class="gauge" data-level={level}>
      {level !== "calm" && (
        <p class="note warning" role="status">
          {t[level](percent)}
        </p>
      )}
      <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
        <summary>
          <span class="gauge-bar" aria-hidden="true">
            <span style={{ width: `${Math.min(100, percent)}%` }} />
          </span>
          {t.gauge(percent, showNumber(context.context_limit))} ·{" "}
          <span class="gauge-cost">
            {t.cost}: {showCost(context.cost)}
          </span>
        </summary>
        {isOpen && <Opened context={context} />}
      </details>
    </div>
  );
}

function GaugeOf({ id }: { id: string }) {
  const ended = turnsHere.value.filter(isOver).length;
  const { value } = useLoaded(() => readContext(id), [id, ended]);
  return value && <Gauge context={value} />;
}

/** How full the shown conversation's context is, and its cost. */
export function ContextGauge() {
  const id = conversationId.value;
  return id === null ? null : <GaugeOf key={id} id={id} />;
}
