import type { Question } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { describedOption, labelOf } from "./words.ts";

type Option = Question["options"][number];

function Described({ question, option: { label, description, is_recommended } }: { question: Question; option: Option }) {
  return (
    <span class="option-words">
      <span dir="auto">
        <strong>{labelOf(question, label)}</strong>
        {is_recommended && <span class="badge recommended">{texts.value.questions.recommended}</span>}
      </span>
      {description !== "" && (
        <span class="small" dir="auto">
          {describedOption(question, label, description)}
        </span>
      )}
    </span>
  );
}

interface OptionButtonsProps {
  question: Question;
  labelledBy: string;
  isBusy: boolean;
  onChoose: (label: string) => unknown;
}

export function OptionButtons({ question, labelledBy, isBusy, onChoose }: OptionButtonsProps) {
  if (question.options.length === 0) return null;
  return (
    <div class="options" role="group" aria-labelledby={labelledBy}>
      {question.options.map((option) => (
        <button
          key={option.label}
          type="button"
          class={`option${option.is_recommended ? " is-recommended" : ""}`}
          data-option={option.label}
          disabled={isBusy}
          onClick={() => void onChoose(option.label)}
        >
          <Described question={question} option={option} />
        </button>
      ))}
    </div>
  );
}

interface OptionChoicesProps {
  question: Question;
  chosen: readonly string[];
  labelledBy: string;
  onChange: (chosen: readonly string[]) => void;
}

/** Several of the options may be the answer. */
export function OptionChoices({ question, chosen, labelledBy, onChange }: OptionChoicesProps) {
  return (
    <div class="options" role="group" aria-labelledby={labelledBy}>
      {question.options.map((option) => (
        <label key={option.label} class={`option${option.is_recommended ? " is-recommended" : ""}`} data-option={option.label}>
          <input
            type="checkbox"
            checked={chosen.includes(option.label)}
            onChange={({ currentTarget: { checked } }) =>
              onChange(
                question.options.map(({ label }) => label).filter((label) => (label === option.label ? checked : chosen.includes(label))),
              )
            }
          />
          <Described question={question} option={option} />
        </label>
      ))}
    </div>
  );
}
