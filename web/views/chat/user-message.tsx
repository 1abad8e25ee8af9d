import { useState } from "preact/hooks";
import { inspected } from "../../state/inspected.ts";
import { showNumber, showTime, texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";

/** Characters; more is shown on demand. */
const SHORT = 1_500;

interface UserMessageProps {
  id?: string;
  text: string;
  time: string;
  /** The turn that left it without an answer, null when unknown; undefined when there is an answer. */
  unansweredTurn?: string | null | undefined;
}

export function UserMessage({ id, text, time, unansweredTurn }: UserMessageProps) {
  const t = texts.value;
  const [isWhole, setIsWhole] = useState(text.length <= SHORT);
  return (
    <article class="message from-user" id={id} tabIndex={-1} aria-label={t.chat.you}>
      <div class="bubble">
        <p class="as-written" dir="auto">
          {isWhole ? text : `${text.slice(0, SHORT)}…`}
        </p>
        {text.length > SHORT && (
          <button type="button" class="quiet-button" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
            {isWhole ? t.less : `${t.more} · ${t.chat.tooLong(showNumber(text.length))}`}
          </button>
        )}
      </div>
      {unansweredTurn !== undefined && (
        <p class="quiet small">
          {t.chat.noAnswer}
          {unansweredTurn !== null && <QuietButton onClick={() => (inspected.value = unansweredTurn)}>{t.chat.inspect}</QuietButton>}
        </p>
      )}
      <time class="quiet small" dateTime={time}>
        {showTime(time)}
      </time>
    </article>
  );
}
