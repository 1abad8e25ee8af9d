import { useEffect, useRef, useState } from "preact/hooks";
import type { Message } from "../../api/types.ts";
import { attachmentsOf, saidAnew } from "../../state/thread/message-parts.ts";
import { editQuestion } from "../../state/thread/rewrite.ts";
import { isBeingAnswered } from "../../state/thread/say.ts";
import { texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { fitToText } from "../fit-to-text.ts";
import { submitting, useAction } from "../loaded.tsx";

interface EditQuestionProps {
  message: Message;
  onLeave: () => void;
}

/** Edits a question in its place. Enter sends, Escape leaves; pictures stay. */
export function EditQuestion({ message, onLeave }: EditQuestionProps) {
  const t = texts.value;
  const field = useRef<HTMLTextAreaElement>(null);
  const [words, setWords] = useState(message.content);
  const { isBusy, run, note } = useAction();
  const pictures = attachmentsOf(message);
  const isNothing = words.trim() === "" && pictures.length === 0;
  useEffect(() => {
    fitToText(field.current);
    field.current?.focus();
    field.current?.setSelectionRange(words.length, words.length);
  }, []);

  function send(): void {
    if (isNothing || isBusy || isBeingAnswered()) return;
    void run(async () => editQuestion(message.id, await saidAnew(words, pictures)));
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.stopPropagation(); // it stops no answer
      onLeave();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    }
  }
  return (
    <form class="edit-question" onSubmit={submitting(send)}>
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        aria-label={t.branches.edit}
        value={words}
        onInput={({ currentTarget }) => {
          setWords(currentTarget.value);
          fitToText(currentTarget);
        }}
        onKeyDown={onKeyDown}
      />
      <p class="quiet small">{t.branches.editExplain}</p>
      {note}
      <div class="actions">
        <Button onClick={onLeave}>{t.cancel}</Button>
        <button type="submit" class="primary" disabled={isNothing || isBusy || isBeingAnswered()}>
          {t.chat.send}
        </button>
      </div>
    </form>
  );
}
