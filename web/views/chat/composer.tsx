import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { choices } from "../../state/thread/choices.ts";
import { picturesFor } from "../../state/thread/chosen-pictures.ts";
import { isOver } from "../../state/turns/live-turn.ts";
import { toParts } from "../../state/thread/message-parts.ts";
import { stopTurn } from "../../state/turns/run-turn.ts";
import { say } from "../../state/thread/say.ts";
import { sessionId, turnsHere } from "../../state/thread/thread.ts";
import { drafts } from "../../state/thread/unsent.ts";
import { texts } from "../../texts/texts.ts";
import { fitToText } from "../fit-to-text.ts";
import { submitting } from "../loaded.tsx";
import { ChoosePictures, PictureTray } from "../pictures/picture-tray.tsx";
import { ComposerOptions } from "./composer-options.tsx";
import { HandedOver } from "./handed-over.tsx";

/** Writes, sends and stops. Unsent text stays with its conversation. */
export function Composer() {
  const t = texts.value.chat;
  const field = useRef<HTMLTextAreaElement>(null);
  const draft = useSignal("");
  const running = turnsHere.value.find((turn) => !isOver(turn));
  const session = sessionId.value;
  const pictures = picturesFor(session);
  const isDraggedOver = useSignal(false);
  const isNothing = draft.value.trim() === "" && pictures.chosen.value.length === 0;

  useEffect(() => {
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
  }, []);
  useLayoutEffect(() => {
    draft.value = drafts.of(session) ?? "";
    requestAnimationFrame(() => fitToText(field.current));
  }, [session]);

  function write(text: string): void {
    draft.value = text;
    drafts.keep(session, text || null);
  }

  function send(): void {
    if (isNothing || running) return;
    say({ message: toParts(draft.value, pictures.chosen.value.map(({ url }) => url)) }); // prettier-ignore
    write("");
    pictures.clear();
    requestAnimationFrame(() => fitToText(field.current));
  }

  function onKeyDown(event: KeyboardEvent): void {
    // While characters are composed, Enter picks one.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  }

  function takeFiles(event: Event, from: DataTransfer | null): void {
    isDraggedOver.value = false;
    if (!from || from.files.length === 0) return;
    event.preventDefault();
    void pictures.add([...from.files]);
  }

  return (
    <form
      class={`composer${choices.value.isTemporary ? " is-temporary" : ""}${isDraggedOver.value ? " takes-files" : ""}`}
      onSubmit={submitting(send)}
      onDragOver={(event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        isDraggedOver.value = true;
      }}
      onDragLeave={() => (isDraggedOver.value = false)}
      onDrop={(event) => takeFiles(event, event.dataTransfer)}
    >
      <HandedOver />
      <PictureTray of={pictures} />
      <div class="composer-box">
        <ChoosePictures of={pictures} />
        <textarea
          id="message"
          ref={field}
          rows={1}
          dir="auto"
          aria-label={t.label}
          placeholder={t.placeholder}
          value={draft}
          onInput={({ currentTarget }) => {
            write(currentTarget.value);
            fitToText(currentTarget);
          }}
          onKeyDown={onKeyDown}
          onPaste={(event) => takeFiles(event, event.clipboardData)}
        />
        {running ? (
          <button type="button" class="stop" disabled={running.phase.value === "stopping"} onClick={() => void stopTurn(running)}>
            {t.stop}
          </button>
        ) : (
          <button type="submit" class="primary" disabled={isNothing}>
            {t.send}
          </button>
        )}
      </div>
      <ComposerOptions />
    </form>
  );
}
