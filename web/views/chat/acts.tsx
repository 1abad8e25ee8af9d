import type { PlanItem } from "../../api/types.ts";
import type { Act } from "../../state/turns/acts.ts";
import { showDuration, texts } from "../../texts/texts.ts";

const written = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** The state of the turn: calls without a result run, wait for an answer, or were cut off. */
export type ActsOf = "running" | "asking" | "over";

function stateOf({ ok, ms }: Act, of: ActsOf): string {
  const t = texts.value.acts;
  if (ok === null) return { running: t.running, asking: t.held, over: t.interrupted }[of];
  return [ok ? t.done : t.failed, ...(ms === null ? [] : [showDuration(ms)])].join(" · ");
}

function OneAct({ act, of }: { act: Act; of: ActsOf }) {
  const t = texts.value.acts;
  const state = act.ok === null ? (of === "over" ? "failed" : "running") : act.ok ? "done" : "failed";
  return (
    <li>
      <details class="act" data-tool={act.name}>
        <summary>
          <code>{act.name}</code> <span class={`badge act-${state}`}>{stateOf(act, of)}</span>
        </summary>
        <p class="quiet small">{t.by(act.agent)}</p>
        <p class="small">{t.arguments}</p>
        <pre class="as-written" dir="auto" tabIndex={0} aria-label={t.arguments}>
          {written(act.arguments)}
        </pre>
        {act.output !== null && (
          <>
            <p class="small">{act.isCut ? t.resultCut : t.result}</p>
            <pre class="as-written" dir="auto" tabIndex={0} aria-label={t.result}>
              {act.output}
            </pre>
          </>
        )}
      </details>
    </li>
  );
}

export function Acts({ acts, of }: { acts: readonly Act[]; of: ActsOf }) {
  if (acts.length === 0) return null;
  return (
    <ol class="acts" aria-label={texts.value.acts.title}>
      {acts.map((act) => (
        <OneAct key={`${act.agent} ${act.callId}`} act={act} of={of} />
      ))}
    </ol>
  );
}

export function Plan({ items }: { items: readonly PlanItem[] }) {
  const t = texts.value.acts;
  if (items.length === 0) return null;
  return (
    <ul class="plan" aria-label={t.plan}>
      {items.map(({ content, status }, index) => (
        <li key={index} class={`plan-${status}`} dir="auto">
          {content} <span class="quiet small">{t.planStates[status]}</span>
        </li>
      ))}
    </ul>
  );
}

/** The model's reasoning, folded. */
export function Thoughts({ text }: { text: string }) {
  if (text === "") return null;
  return (
    <details class="act">
      <summary>{texts.value.acts.thoughts}</summary>
      <p class="as-written quiet" dir="auto">
        {text}
      </p>
    </details>
  );
}
