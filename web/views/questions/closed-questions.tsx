import type { ClosedQuestion } from "../../state/turns/asked.ts";
import { texts } from "../../texts/texts.ts";
import { answerAsWords, askedInWords } from "./words.ts";

function outcomeOf({ question, answer, by }: ClosedQuestion): string {
  const t = texts.value.questions;
  const words = answerAsWords(question, answer);
  if (by === "person") return words === "" ? t.answered(t.ownWords) : t.answered(words);
  if (by === "elsewhere") return t.elsewhere;
  return [by === "timeout" ? t.inTime : t.byRule, ...(words === "" ? [] : [t.counted(words)])].join(" ");
}

export function ClosedQuestions({ of }: { of: readonly ClosedQuestion[] }) {
  const closed = of.filter(({ question: { type } }) => type !== "client_tool");
  if (closed.length === 0) return null;
  return (
    <ul class="plain-list closed-questions">
      {closed.map((one) => (
        <li key={one.question.id} class="small" data-closed={one.by}>
          <span class="quiet" dir="auto">
            {askedInWords(one.question)}
          </span>{" "}
          <strong dir="auto">{outcomeOf(one)}</strong>
        </li>
      ))}
    </ul>
  );
}
