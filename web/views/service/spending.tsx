import { useState } from "preact/hooks";
import { listUsage } from "../../api/view-endpoints.ts";
import type { CallTotals, UsageList } from "../../api/types.ts";
import { showCost, showNumber, texts } from "../../texts/texts.ts";
import { LoadState, useLoaded } from "../loaded.tsx";
import { Bars } from "./bars.tsx";

const BY = ["day", "model", "user"] as const;
type By = (typeof BY)[number];

/** Costs that nobody knows are not added. */
function costOf(totals: readonly CallTotals[]): CallTotals["cost"] {
  const known = totals.flatMap(({ cost }) => (cost === null ? [] : [cost]));
  if (known.length === 0) return null;
  return known.reduce((sum, cost) => ({ input_usd: sum.input_usd + cost.input_usd, output_usd: sum.output_usd + cost.output_usd }));
}

function SpendingTable({ usage, by }: { usage: UsageList["usage"]; by: By }) {
  const t = texts.value.service;
  return (
    <div class="scrolls" role="region" aria-label={t.spending} tabIndex={0}>
      <table class="data">
        <thead>
          <tr>
            <th scope="col">{t.by[by]}</th>
            <th scope="col">{t.turnTokens}</th>
            <th scope="col">{t.backgroundTokens}</th>
            <th scope="col">{texts.value.context.cost}</th>
          </tr>
        </thead>
        <tbody>
          {usage.map(({ day, model, user_id: user, turns, background }, index) => (
            <tr key={index}>
              <th scope="row" dir="auto">
                {day ?? model ?? user ?? "–"}
              </th>
              <td>{showNumber(turns.total_tokens)}</td>
              <td>{showNumber(background.total_tokens)}</td>
              <td>{showCost(costOf([turns, background]))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Spent({ list: { usage }, by }: { list: UsageList; by: By }) {
  const t = texts.value.service;
  if (usage.length === 0) return <p class="quiet">{t.nothingSpent}</p>;
  const days = by === "day" ? usage.toSorted((one, other) => (one.day ?? "").localeCompare(other.day ?? "")) : [];
  const bars = days.map(({ day = "", turns, background }) => {
    const tokens = showNumber(turns.total_tokens + background.total_tokens);
    return { at: day, title: `${day}: ${texts.value.inspector.tokens(tokens)}`, parts: [turns.total_tokens, background.total_tokens] };
  });
  return (
    <>
      {bars.length > 1 && <Bars label={t.spending} bars={bars} parts={[t.turnTokens, t.backgroundTokens]} show={showNumber} />}
      <SpendingTable usage={usage} by={by} />
    </>
  );
}

export function Spending() {
  const t = texts.value.service;
  const [by, setBy] = useState<By>("day");
  const loaded = useLoaded(() => listUsage(by), [by]);
  return (
    <section class="card">
      <div class="card-head">
        <h2>{t.spending}</h2>
        <select aria-label={t.spendingBy} value={by} onChange={({ currentTarget }) => setBy(currentTarget.value as By)}>
          {BY.map((name) => (
            <option key={name} value={name}>
              {t.by[name]}
            </option>
          ))}
        </select>
      </div>
      <LoadState of={loaded}>{(list) => <Spent list={list} by={by} />}</LoadState>
    </section>
  );
}
