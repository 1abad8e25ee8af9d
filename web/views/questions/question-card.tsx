import { useId, useState } from "preact/hooks";
import type { Question } from "../../api/types.ts";
import type { LiveTurn } from "../../state/turns/live-turn.ts";
import { answerQuestion } from "../../state/turns/questions.ts";
import { pathInWords } from "../../state/turns/team.ts";
import { texts } from "../../texts/texts.ts";
import { LinkedText } from "../linked-text.tsx";
import { submitting, useAction } from "../loaded.tsx";
import { CallArguments } from "./call-arguments.tsx";
import { Countdown } from "./countdown.tsx";
import { OptionButtons, OptionChoices } from "./question-options.tsx";
import { asWords } from "./words.ts";

function Calls({ question: { tool, calls = [] } }: { question: Question }) {
  return (
    <>
      {[...(tool ? [tool] : []), ...calls].map(({ name, arguments: given }, index) => (
        <div key={index} class="asked-call">
          <code dir="auto">{name}</code>
          <CallArguments of={given} />
        </div>
      ))}
    </>
  );
}

export function QuestionCard({ turn, question }: { turn: LiveTurn; question: Question }) {
  const t = texts.value.questions;
  const titleId = useId();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>(() =>
    question.options.filter(({ is_recommended }) => is_recommended).map(({ label }) => label),
  );
  const { isBusy, run, note } = useAction();
  const { type, allow_multiple: takesSeveral } = question;
  const needsLabel = type === "permission";

  async function answer(labels: readonly string[]): Promise<void> {
    const words = text.trim();
    const value = takesSeveral ? [...labels] : labels[0];
    const isDone = await run(() =>
      answerQuestion(turn, question, {
        ...(labels.length > 0 && value !== undefined ? { answer: value } : {}),
        ...(words ? { text: words } : {}),
      }),
    );
    // The button that had the focus is gone.
    if (isDone) document.getElementById("message")?.focus();
  }

  return (
    <section class="question-card" data-question={question.id} data-type={type} aria-labelledby={titleId}>
      <p class="question-head">
        <span class="badge waits">{t.types[type] ?? type}</span>
        <span class="quiet small" dir="auto">
          {t.by(pathInWords(question.path))}
        </span>
        <Countdown until={question.expires_at} />
      </p>
      <p id={titleId} class="question-text as-written" dir="auto">
        <LinkedText text={asWords(question)} />
      </p>
      <Calls question={question} />
      {type === "client_tool" ? (
        <p class="quiet small">{t.clientTool}</p>
      ) : (
        <form class="stack" onSubmit={submitting(() => answer(takesSeveral ? chosen : []))}>
          {takesSeveral ? (
            <OptionChoices question={question} chosen={chosen} labelledBy={titleId} onChange={setChosen} />
          ) : (
            <OptionButtons question={question} labelledBy={titleId} isBusy={isBusy} onChoose={(label) => answer([label])} />
          )}
          <label class="field">
            <span>{needsLabel ? t.remark : t.ownWords}</span>
            <textarea rows={1} dir="auto" maxLength={20_000} value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
          </label>
          {!needsLabel && (
            <div class="actions start">
              <button type="submit" class="primary" disabled={isBusy || (text.trim() === "" && !(takesSeveral && chosen.length > 0))}>
                {t.answer}
              </button>
            </div>
          )}
        </form>
      )}
      {note}
    </section>
  );
}
