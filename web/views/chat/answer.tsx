import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Message } from "../../api/types.ts";
import { regenerateAnswer } from "../../state/thread/rewrite.ts";
import { isBeingAnswered } from "../../state/thread/say.ts";
import { inspect, inspected } from "../../state/page/side-panel.ts";
import { continueInAnother } from "../../state/thread/fork-conversation.ts";
import { type Source, withSources } from "../../state/page/sources.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { VersionSwitch } from "../branches/version-switch.tsx";
import { QuietButton } from "../button.tsx";
import { useAction } from "../loaded.tsx";
import { SignButton } from "../sign-button.tsx";
import { RatingButtons } from "./rating.tsx";

interface AnswerProps {
  /** As it is stored; undefined until it is. */
  stored: Message | undefined;
  turnId: string | null;
  time: string | null;
  isBusy?: boolean;
  /** To copy, with its sources. */
  text: () => string;
  sources: readonly Source[];
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

function StoredActions({ of: stored }: { of: Message }) {
  const { run, note } = useAction();
  const { id, rating, versions } = stored;
  return (
    <>
      <RatingButtons messageId={id} given={rating} />
      {!isBeingAnswered() && (
        <>
          <SignButton sign="again" label={texts.value.branches.regenerate} onClick={() => run(() => regenerateAnswer(id))} />
          <SignButton sign="fork" label={texts.value.branches.fork} onClick={() => run(() => continueInAnother(id))} />
        </>
      )}
      {versions && <VersionSwitch of={stored} />}
      {note}
    </>
  );
}

/** An answer; a click looks inside. */
export function Answer({ stored, turnId, time, isBusy = false, text, sources, children, notes }: AnswerProps) {
  const t = texts.value.chat;
  const isInspected = turnId !== null && inspected.value === turnId;
  return (
    <article
      class={`message from-assistant${isInspected ? " inspected" : ""}`}
      id={stored && `message-${stored.id}`}
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
        {stored && !isBusy && <StoredActions key={stored.id} of={stored} />}
      </footer>
    </article>
  );
}

export function AnswerNote({ completed, cut }: { completed: boolean; cut: boolean }) {
  const t = texts.value.chat;
  if (completed && !cut) return null;
  return <p class="note">{completed ? t.cut : t.incomplete}</p>;
}
