import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { listKnowledge } from "../../api/endpoints.ts";
import type { AgentType, KnowledgeBase } from "../../api/types.ts";
import { isOver } from "../../state/live-turn.ts";
import { stopTurn } from "../../state/run-turn.ts";
import { userId } from "../../state/settings.ts";
import { sessionId, turnsHere } from "../../state/thread.ts";
import { sendTurn } from "../../state/turns.ts";
import { texts } from "../../texts/texts.ts";
import { submitting } from "../loaded.tsx";

const AGENTS: readonly AgentType[] = ["hybrid_agent", "naive_rag_agent", "chat_agent"];
const GENERAL = "general";

/** Makes the field as high as its text. */
function fit(field: HTMLTextAreaElement): void {
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, 320) + 2}px`;
}

/** Writes and sends a message; while it is answered, stops it. */
export function Composer() {
  const t = texts.value.chat;
  const field = useRef<HTMLTextAreaElement>(null);
  const draft = useSignal("");
  const knowledge = useSignal("");
  const agent = useSignal<AgentType | "">("");
  const bases = useSignal<KnowledgeBase[]>([]);
  const running = turnsHere.value.find((turn) => !isOver(turn));

  useEffect(() => {
    listKnowledge().then(
      ({ knowledge: found }) => (bases.value = found),
      () => undefined, // the turn itself says what is wrong
    );
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
  }, []);

  function send(): void {
    const message = draft.value;
    const owner = userId.value;
    if (message.trim() === "" || owner === null || running) return;
    sendTurn({
      user_id: owner,
      session_id: sessionId.value,
      message,
      kb_prefix: knowledge.value || null,
      agent_type: agent.value || null,
      on_disconnect: "continue",
      interactive: true,
    });
    draft.value = "";
    requestAnimationFrame(() => {
      if (field.current) fit(field.current);
    });
  }

  function onKeyDown(event: KeyboardEvent): void {
    // While characters are composed, Enter picks one.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  }

  return (
    <form class="composer" onSubmit={submitting(send)}>
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
            draft.value = currentTarget.value;
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
      <div class="composer-options" role="group" aria-label={t.options}>
        <label>
          <span>{t.knowledge}</span>
          <select value={knowledge} onChange={({ currentTarget }) => (knowledge.value = currentTarget.value)}>
            <option value="">{t.automatic}</option>
            <option value={GENERAL}>{t.none}</option>
            {bases.value.map(({ kb_prefix }) => (
              <option key={kb_prefix} value={kb_prefix}>
                {kb_prefix}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span>{t.agent}</span>
          <select value={agent} onChange={({ currentTarget }) => (agent.value = currentTarget.value as AgentType | "")}>
            <option value="">{t.automatic}</option>
            {AGENTS.map((name) => (
              <option key={name} value={name}>
                {t.agents[name]}
              </option>
            ))}
          </select>
        </label>
      </div>
    </form>
  );
}
