import { useEffect, useRef, useState } from "preact/hooks";
import type { Message } from "../../api/types.ts";
import type { ShownPicture } from "../../state/thread/message-parts.ts";
import { isBeingAnswered } from "../../state/thread/say.ts";
import { inspect } from "../../state/page/side-panel.ts";
import { showNumber, showTime, texts } from "../../texts/texts.ts";
import { EarlierAnswer, VersionSwitch } from "../branches/version-switch.tsx";
import { QuietButton } from "../button.tsx";
import { lazy } from "../lazy.tsx";
import { Markdown } from "../markdown.tsx";
import { MessagePictures } from "../pictures/message-pictures.tsx";
import { SignButton } from "../sign-button.tsx";

const EditQuestion = lazy(() => import("../branches/edit-question.tsx").then((script) => script.EditQuestion));

/** Characters; more is shown on demand. */
const SHORT = 1_500;
/** Words stay as they were written; pasted code is shown as code. */
const HAS_CODE = /^ {0,3}(?:```|~~~)/mu;

interface UserMessageProps {
  /** As it is stored; undefined until it is. */
  stored: Message | undefined;
  text: string;
  pictures: readonly ShownPicture[];
  time: string;
  /** The turn that left it unanswered, null when unknown; undefined when there is an answer. */
  unansweredTurn?: string | null | undefined;
}

function Words({ text }: { text: string }) {
  const t = texts.value;
  const [isWhole, setIsWhole] = useState(text.length <= SHORT);
  const shown = isWhole ? text : `${text.slice(0, SHORT)}…`;
  return (
    <>
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
    </>
  );
}

export function UserMessage({ stored, text, pictures, time, unansweredTurn }: UserMessageProps) {
  const t = texts.value;
  const [isEdited, setIsEdited] = useState(false);
  const article = useRef<HTMLElement>(null);
  const wasEdited = useRef(false);
  useEffect(() => {
    if (wasEdited.current && !isEdited) article.current?.querySelector<HTMLElement>(".message-foot > button")?.focus();
    wasEdited.current = isEdited;
  }, [isEdited]);
  return (
    <article class="message from-user" id={stored && `message-${stored.id}`} tabIndex={-1} aria-label={t.chat.you} ref={article}>
      <div class="bubble">
        <MessagePictures of={pictures} />
        {isEdited && stored ? <EditQuestion message={stored} onLeave={() => setIsEdited(false)} /> : text !== "" && <Words text={text} />}
      </div>
      {unansweredTurn !== undefined && (
        <p class="quiet small">
          {t.chat.noAnswer}
          {unansweredTurn !== null && <QuietButton onClick={() => inspect(unansweredTurn)}>{t.chat.inspect}</QuietButton>}
        </p>
      )}
      <footer class="message-foot">
        {stored && !isEdited && !isBeingAnswered() && (
          <SignButton sign="pencil" label={t.branches.edit} onClick={() => setIsEdited(true)} />
        )}
        {stored?.versions && <VersionSwitch of={stored} />}
        {stored?.other_answers && <EarlierAnswer of={stored.other_answers} />}
        <time class="quiet small" dateTime={time}>
          {showTime(time)}
        </time>
      </footer>
    </article>
  );
}
