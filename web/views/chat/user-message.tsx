import { useState } from "preact/hooks";
import { inspect } from "../../state/side-panel.ts";
import { showNumber, showTime, texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";
import { Markdown } from "../markdown.tsx";

/** Characters; more is shown on demand. */
const SHORT = 1_500;
/** Words stay as they were written; pasted code is shown as code. */
const HAS_CODE = /^ {0,3}(?:```|~~~)/mu;

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
  const shown = isWhole ? text : `${text.slice(0, SHORT)}…`;
  return (
    <article class="message from-user" id={id} tabIndex={-1} aria-label={t.chat.you}>
      <div class="bubble">
        {HAS_CODE.test(shown) ? (
          <Markdown of={shown} read={() => [shown, true]} />
        ) : (
          <p class="as-written" dir="auto">
            {shown}
          </p>
        )}
        {text.length > SHORT && (
          <button type="button" class="quiet-button" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
            {isWhole ? t.less : `${t.more} · ${t.chat.tooLong(showNumber(text.length))}`}
          </button>
        )}
      </div>
      {unansweredTurn !== undefined && (
        <p class="quiet small">
          {t.chat.noAnswer}
          {unansweredTurn !== null && <QuietButton onClick={() => inspect(unansweredTurn)}>{t.chat.inspect}</QuietButton>}
        </p>
      )}
      <time class="quiet small" dateTime={time}>
        {showTime(time)}
      </time>
    </article>
  );
}
