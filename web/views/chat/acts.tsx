import type { DecisionRejected, PlanItem } from "../../api/types.ts";
import type { Act } from "../../state/turns/acts.ts";
import { type HandedOver, handoffsIn, pathInWords, taskOf, type TeamAct, withTeams } from "../../state/turns/team.ts";
import { showDuration, texts } from "../../texts/texts.ts";

const written = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** The state of the turn: calls without a result run, wait for an answer, or were cut off. */
export type ActsOf = "running" | "asking" | "over";

function stateOf(act: Act, of: ActsOf): string {
  const t = texts.value.acts;
  const { ok, ms } = act;
  if (ok === null) return { running: taskOf(act) ? t.working : t.running, asking: taskOf(act) ? t.waits : t.held, over: t.interrupted }[of];
  return [ok ? t.done : t.failed, ...(ms === null ? [] : [showDuration(ms)])].join(" · ");
}

function Part({ label, text }: { label: string; text: string }) {
  return (
    <>
      <p class="small">{label}</p>
      <pre class="as-written" dir="auto" tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </>
  );
}

function Given({ act }: { act: Act }) {
  const t = texts.value.acts;
  const task = taskOf(act);
  if (!task) return <Part label={t.arguments} text={written(act.arguments)} />;
  return (
    <>
      <Part label={t.task} text={task.task} />
      {task.context !== "" && <Part label={t.context} text={task.context} />}
    </>
  );
}

interface OneActProps extends TeamAct {
  of: ActsOf;
  isTop: boolean;
  handed: ReadonlyMap<Act, HandedOver>;
}

/** A call; of a task the member with its own calls below, of a handoff a line. */
function OneAct({ act, below, of, isTop, handed }: OneActProps) {
  const t = texts.value.acts;
  const state = act.ok === null ? (of === "over" ? "failed" : "running") : act.ok ? "done" : "failed";
  const member = taskOf(act)?.member;
  const handoff = handed.get(act);
  if (handoff) {
    return (
      <li class="handoff" dir="auto">
        {t.handedOver(act.agent, handoff.to, handoff.reason)}
      </li>
    );
  }
  return (
    <li data-member={member}>
      <details class="act" data-tool={act.name}>
        <summary>
          {member === undefined ? <code>{act.name}</code> : <strong dir="auto">{member}</strong>}{" "}
          {isTop && act.path.length > 1 && <span class="quiet small">{pathInWords(act.path)}</span>}{" "}
          <span class={`badge state-${state}`}>{stateOf(act, of)}</span>
        </summary>
        <p class="quiet small" dir="auto">
          {(member === undefined ? t.by : t.askedBy)(pathInWords(act.path))}
        </p>
        <Given act={act} />
        {act.output !== null && <Part label={member !== undefined ? t.answer : act.isCut ? t.resultCut : t.result} text={act.output} />}
      </details>
      {below.length > 0 && <ActList acts={below} label={t.callsOf(member ?? "")} of={of} isTop={false} handed={handed} />}
    </li>
  );
}

function ActList({ acts, label, ...rest }: { acts: readonly TeamAct[]; label: string } & Pick<OneActProps, "of" | "isTop" | "handed">) {
  return (
    <ol class="acts" aria-label={label}>
      {acts.map(({ act, below }) => (
        <OneAct key={`${act.path.join(" ")} ${act.callId}`} act={act} below={below} {...rest} />
      ))}
    </ol>
  );
}

export function Acts({ acts, of }: { acts: readonly Act[]; of: ActsOf }) {
  if (acts.length === 0) return null;
  return <ActList acts={withTeams(acts)} label={texts.value.acts.title} of={of} isTop handed={handoffsIn(acts)} />;
}

/** What rules did about calls, a line for each. */
export function Rejections({ of }: { of: readonly DecisionRejected[] }) {
  const t = texts.value.acts;
  if (of.length === 0) return null;
  return (
    <ul class="acts" aria-label={t.rules}>
      {of.map(({ rule, action, name, message, path }, index) => (
        <li key={index} class="handoff" data-rule={rule} dir="auto">
          {t.ruled[action](rule, name, pathInWords(path))} {message}
        </li>
      ))}
    </ul>
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
