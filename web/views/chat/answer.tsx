import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Rating } from "../../api/types.ts";
import { inspect, inspected } from "../../state/side-panel.ts";
import { type Source, withSources } from "../../state/sources.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";
import { RatingButtons } from "./rating.tsx";

interface AnswerProps {
  id?: string | undefined;
  turnId: string | null;
  time: string | null;
  isBusy?: boolean;
  /** To copy, with its sources. */
  text: () => string;
  sources: readonly Source[];
  /** Of the stored answer, which can be rated. */
  messageId: string | null;
  rating: Rating | null;
  children: ComponentChildren;
  notes?: ComponentChildren;
}

/** Clicks on links and buttons, and the end of a selection. */
const isOwnClick = (target: EventTarget | null): boolean =>
  (target instanceof Element && target.closest("a, button, input, summary") !== null) || !(getSelection()?.isCollapsed ?? true);

function CopyButton({ text }: { text: () => string }) {
  const t = texts.value;
  const [isCopied, setIsCopied] = useState(false);
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text());
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), 2_000);
  }
  // Only such a page may write to the clipboard.
  if (!isSecureContext) return null;
  return <QuietButton onClick={copy}>{isCopied ? t.copied : t.copy}</QuietButton>;
}

/** An answer of the assistant; a click looks inside. */
export function Answer({ id, turnId, time, isBusy = false, text, sources, messageId, rating, children, notes }: AnswerProps) {
  const t = texts.value.chat;
  const isInspected = turnId !== null && inspected.value === turnId;
  return (
    <article
      class={`message from-assistant${isInspected ? " inspected" : ""}`}
      id={id}
      tabIndex={-1}
      aria-label={t.assistant}
      aria-busy={isBusy}
      onClick={({ target }) => turnId !== null && !isOwnClick(target) && inspect(turnId)}
    >
      {children}
      {notes}
      <footer class="message-foot">
        {time !== null && (
          <time class="quiet small" dateTime={time}>
            {showTime(time)}
          </time>
        )}
        {turnId !== null && (
          <button type="button" class="quiet-button inspect" aria-pressed={isInspected} onClick={() => inspect(turnId)}>
            {t.inspect}
          </button>
        )}
        {!isBusy && <CopyButton text={() => withSources(text(), sources, t.sources)} />}
        {messageId !== null && !isBusy && <RatingButtons key={messageId} messageId={messageId} given={rating} />}
      </footer>
    </article>
  );
}

/** Says of an answer that it is not whole. */
export function AnswerNote({ completed, cut }: { completed: boolean; cut: boolean }) {
  const t = texts.value.chat;
  if (completed && !cut) return null;
  return <p class="note">{completed ? t.cut : t.incomplete}</p>;
}
