import type { Status } from "../../api/types.ts";
import { showDuration, showTime, texts } from "../../texts/texts.ts";
import { Bars } from "./bars.tsx";

const SHOWN = 60;

function quantile(numbers: readonly number[], share: number): number | null {
  const inOrder = numbers.toSorted((one, other) => one - other);
  return inOrder[Math.min(inOrder.length - 1, Math.ceil(share * inOrder.length) - 1)] ?? null;
}

function Figure({ title, numbers }: { title: string; numbers: readonly number[] }) {
  const t = texts.value.service;
  const [median, slowest] = [quantile(numbers, 0.5), quantile(numbers, 0.95)];
  return (
    <div class="figure">
      <p class="quiet small">{title}</p>
      <p>
        <strong>{median === null ? "–" : showDuration(median)}</strong> <span class="quiet small">{t.median}</span>
      </p>
      <p class="quiet small">
        {t.slowest} {slowest === null ? "–" : showDuration(slowest)}
      </p>
    </div>
  );
}

export function Latency({ turns }: { turns: Status["turns"] }) {
  const t = texts.value.service;
  if (turns.length === 0) return <p class="quiet">{t.noTurns}</p>;
  const failed = turns.filter(({ code }) => code !== null).length;
  const withoutLayer = turns.filter(({ degraded }) => degraded.length > 0).length;
  const inOrder = turns.toSorted((one, other) => one.at.localeCompare(other.at)).slice(-SHOWN);
  const bars = inOrder.map(({ at, total_ms: total, first_token_ms: first }) => {
    const words = `${t.firstToken} ${first === null ? "–" : showDuration(first)}, ${t.total} ${total === null ? "–" : showDuration(total)}`;
    return { at: showTime(at), title: `${showTime(at)}: ${words}`, parts: [first ?? 0, Math.max(0, (total ?? 0) - (first ?? 0))] };
  });
  return (
    <>
      <div class="figures">
        <Figure title={t.firstToken} numbers={turns.flatMap(({ first_token_ms: ms }) => (ms === null ? [] : [ms]))} />
        <Figure title={t.total} numbers={turns.flatMap(({ total_ms: ms }) => (ms === null ? [] : [ms]))} />
      </div>
      <Bars label={`${t.latency}: ${t.total}, ${t.firstToken}`} bars={bars} parts={[t.firstToken, t.afterwards]} show={showDuration} />
      {failed > 0 && <p class="note error">{t.failedTurns(failed, turns.length)}</p>}
      {withoutLayer > 0 && <p class="note warning">{t.degradedTurns(withoutLayer, turns.length)}</p>}
    </>
  );
}
