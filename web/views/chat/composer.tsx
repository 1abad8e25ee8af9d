import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { choices, choicesAsFields } from "../../state/choices.ts";
import { keepDraft, readDraft } from "../../state/drafts.ts";
import { isOver } from "../../state/live-turn.ts";
import { stopTurn } from "../../state/run-turn.ts";
import { userId } from "../../state/settings.ts";
import { sessionId, turnsHere } from "../../state/thread.ts";
import { sendTurn } from "../../state/turns.ts";
import { texts } from "../../texts/texts.ts";
import { submitting } from "../loaded.tsx";
import { ComposerOptions } from "./composer-options.tsx";

/** Makes the field as high as its text. */
function fit(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, 320) + 2}px`;
}

/** Writes and sends a message; while it is answered, stops it. What is written stays with its conversation. */
export function Composer() {
  const t = texts.value.chat;
  const field = useRef<HTMLTextAreaElement>(null);
  const draft = useSignal("");
  const running = turnsHere.value.find((turn) => !isOver(turn));
  const session = sessionId.value;

  useEffect(() => {
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
  }, []);
  useLayoutEffect(() => {
    draft.value = readDraft(session);
    requestAnimationFrame(() => fit(field.current));
  }, [session]);

  function write(text: string): void {
    draft.value = text;
    keepDraft(session, text);
  }

  function send(): void {
    const message = draft.value;
    const owner = userId.value;
    if (message.trim() === "" || owner === null || running) return;
    const fields = choicesAsFields(choices.value);
    const body = { user_id: owner, session_id: session, message, on_disconnect: "continue", interactive: true } as const;
    sendTurn({ kb_prefix: null, agent_type: null, ...body, ...fields });
    write("");
    requestAnimationFrame(() => fit(field.current));
  }

  function onKeyDown(event: KeyboardEvent): void {
    // While characters are composed, Enter picks one.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  }

  return (
    <form class={`composer${choices.value.isTemporary ? " is-temporary" : ""}`} onSubmit={submitting(send)}>
      <div class="composer-box">
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
            fit(currentTarget);
          }}
          onKeyDown={onKeyDown}
        />
        {running ? (
          <button type="button" class="stop" disabled={running.phase.value === "stopping"} onClick={() => void stopTurn(running)}>
            {t.stop}
          </button>
        ) : (
          <button type="submit" class="primary" disabled={draft.value.trim() === ""}>
            {t.send}
          </button>
        )}
      </div>
      <ComposerOptions />
    </form>
  );
}
