import { useState } from "preact/hooks";
import { readSteps, readTurn } from "../../api/endpoints.ts";
import type { Turn } from "../../api/types.ts";
import { wordsOf } from "../../state/thread/message-parts.ts";
import { storedMessages } from "../../state/thread/stored-messages.ts";
import { turnsHere } from "../../state/thread/thread.ts";
import { showCost, showDuration, showNumber, texts } from "../../texts/texts.ts";
import { LoadState, useLoaded } from "../loaded.tsx";
import { PARTS } from "../token-parts.tsx";

const SHOWN_CHARACTERS = 60;

/** The other turns of the thread by id, each with its question, newest first. */
function otherTurns(turnId: string): [id: string, question: string][] {
  const stored = storedMessages.value.flatMap(({ role, content, metadata }) => {
    const id = metadata["turn_id"];
    return role === "user" && typeof id === "string" ? [[id, content] as const] : [];
  });
  const live = turnsHere.value.flatMap(({ turnId: id, body }) => (id.value === null ? [] : [[id.value, wordsOf(body.message)] as const]));
  return [...new Map([...stored, ...live])].filter(([id]) => id !== turnId).reverse();
}

interface Compared {
  turn: Turn;
  /** In their order. */
  calls: readonly string[];
}

async function read(turnId: string): Promise<Compared> {
  const [turn, steps] = await Promise.all([readTurn(turnId), readSteps(turnId).catch(() => null)]);
  const calls = (steps?.steps ?? []).flatMap(({ kind, name, ok }) => (kind === "tool" ? [`${name}${ok === false ? " ✕" : ""}`] : []));
  return { turn, calls };
}

function rowsOf({ turn, calls }: Compared): [name: string, value: string][] {
  const t = texts.value;
  const { route_decision: route, timings, usage, cost, receipt } = turn;
  const tokens = (count: number | undefined): string => (count === undefined ? "–" : showNumber(count));
  const ms = (time: number | null | undefined): string => (time === null || time === undefined ? "–" : showDuration(time));
  const names = (list: readonly string[]): string => (list.length === 0 ? "–" : list.join(", "));
  return [
    [t.inspector.route, route ? `${route.worker_name}, ${t.inspector.methods[route.method] ?? route.method}` : "–"],
    [t.inspector.total, ms(timings?.total_ms)],
    [t.inspector.firstToken, ms(timings?.first_token_ms)],
    [t.inspector.prompt, tokens(usage?.prompt_tokens)],
    ...PARTS.map((part): [string, string] => [`· ${t.inspector.layers[part]}`, tokens(receipt?.prompt_tokens?.[part])]),
    [t.inspector.answerTokens, tokens(usage?.completion_tokens)],
    [t.context.cost, showCost(cost)],
    [
      t.inspector.sections,
      names((receipt?.core_memory ?? []).map(({ section, version }) => `${t.memory.core.sections[section] ?? section} ${version}`)),
    ],
    [t.inspector.episodes, tokens(receipt?.episodes.length)],
    [t.inspector.passages, names((receipt?.passages ?? []).map(({ title }) => title))],
    [t.acts.title, names(calls)],
  ];
}

function Table({ here, other }: { here: Compared; other: Compared }) {
  const t = texts.value.inspector;
  const others = rowsOf(other);
  return (
    <div class="scrolls" role="region" aria-label={t.compare} tabIndex={0}>
      <table class="data compared">
        <thead>
          <tr>
            <td />
            <th scope="col">{t.here}</th>
            <th scope="col">{t.there}</th>
          </tr>
        </thead>
        <tbody>
          {rowsOf(here).map(([name, value], index) => {
            const theirs = others[index]?.[1] ?? "–";
            if (value === "–" && theirs === "–") return null;
            return (
              <tr key={name} class={value === theirs ? "quiet" : ""} data-row={name}>
                <th scope="row">{name}</th>
                <td dir="auto">{value}</td>
                <td dir="auto">{theirs}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function BothTurns({ turnId, otherId }: { turnId: string; otherId: string }) {
  const loaded = useLoaded(() => Promise.all([read(turnId), read(otherId)]), [turnId, otherId]);
  return <LoadState of={loaded}>{([here, other]) => <Table here={here} other={other} />}</LoadState>;
}

export function Compare({ turnId }: { turnId: string }) {
  const t = texts.value.inspector;
  const [other, setOther] = useState("");
  const others = otherTurns(turnId);
  if (others.length === 0) return null;
  return (
    <section>
      <h3>{t.compare}</h3>
      <select aria-label={t.compareWith} value={other} onChange={({ currentTarget }) => setOther(currentTarget.value)}>
        <option value="">{t.compareWith}</option>
        {others.map(([id, question]) => (
          <option key={id} value={id}>
            {question.slice(0, SHOWN_CHARACTERS)}
          </option>
        ))}
      </select>
      {other !== "" && <BothTurns key={`${turnId} ${other}`} turnId={turnId} otherId={other} />}
    </section>
  );
}
