import { useSignal, useSignalEffect } from "@preact/signals";
import type { OpenQuestion } from "../../api/types.ts";
import { conversations } from "../../state/conversations/conversations.ts";
import { openQuestions } from "../../state/turns/questions.ts";
import { pathInWords } from "../../state/turns/team.ts";
import { chatAddress } from "../../state/page/route.ts";
import { conversationId, reloadThread, turnsHere } from "../../state/thread/thread.ts";
import { texts } from "../../texts/texts.ts";
import { Modal } from "../modal.tsx";
import { Countdown } from "./countdown.tsx";
import { asWords } from "./words.ts";

const PAGE_TITLE = document.title;

function WaitingTurn({ question, onOpen }: { question: OpenQuestion; onOpen: () => void }) {
  const { conversation_id: id, turn_id: turnId } = question;
  const title = conversations.value.find((conversation) => conversation.id === id)?.title;
  function open(): void {
    onOpen();
    // It is open, but asked elsewhere.
    if (conversationId.value === id && !turnsHere.value.some((turn) => turn.turnId.value === turnId)) reloadThread();
  }
  return (
    <li class="card">
      <p class="question-head">
        <span class="badge waits">{texts.value.questions.types[question.type] ?? question.type}</span>
        <Countdown until={question.expires_at} />
      </p>
      <a href={chatAddress(id)} onClick={open} dir="auto">
        {asWords(question)}
      </a>
      <p class="quiet small" dir="auto">
        {texts.value.questions.by(pathInWords(question.path))}
      </p>
      {title && (
        <p class="quiet small" dir="auto">
          {title}
        </p>
      )}
    </li>
  );
}

export function Bell() {
  const t = texts.value.questions;
  const isOpen = useSignal(false);
  const close = (): void => void (isOpen.value = false);
  const count = openQuestions.value.length;
  useSignalEffect(() => {
    const waiting = openQuestions.value.length;
    document.title = waiting === 0 ? PAGE_TITLE : `(${waiting}) ${PAGE_TITLE}`;
  });
  return (
    <>
      <button
        type="button"
        class={`icon bell${count > 0 ? " has-some" : ""}`}
        aria-label={t.bell(count)}
        title={t.bell(count)}
        onClick={() => (isOpen.value = true)}
      >
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M18 9a6 6 0 0 0-12 0c0 6-2.5 7-2.5 7h17S18 15 18 9M10 20a2.2 2.2 0 0 0 4 0" />
        </svg>
        {count > 0 && (
          <span class="bell-count" aria-hidden="true">
            {count}
          </span>
        )}
      </button>
      {isOpen.value && (
        <Modal title={t.waiting} side="end" onClose={close}>
          {count === 0 && <p class="quiet">{t.bell(0)}</p>}
          <ul class="cards">
            {openQuestions.value.map((question) => (
              <WaitingTurn key={question.id} question={question} onOpen={close} />
            ))}
          </ul>
          <a href="#/memory/permissions" onClick={close}>
            {texts.value.memory.tabs.permissions}
          </a>
        </Modal>
      )}
    </>
  );
}
