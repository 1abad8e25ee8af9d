import { useSignal } from "@preact/signals";
import { readStatus } from "../../api/endpoints.ts";
import { inspected } from "../../state/inspected.ts";
import { isNarrow, userId } from "../../state/settings.ts";
import { texts } from "../../texts/texts.ts";
import { Inspector } from "../inspector/inspector.tsx";
import { IconButton } from "../button.tsx";
import { useLoaded } from "../loaded.tsx";
import { Modal } from "../modal.tsx";
import { Composer } from "./composer.tsx";
import { ContextGauge } from "./context-gauge.tsx";
import { ConversationList } from "./conversation-list.tsx";
import { Thread } from "./thread.tsx";

/** Says once that nothing but quotes is to be expected. */
function OfflineRemark() {
  const { value } = useLoaded(readStatus, [userId.value]);
  return value?.models.chat === "offline" ? <p class="note offline">{texts.value.chat.offline}</p> : null;
}

/** Conversations, the thread, and what is inside an answer: side by side, or as drawers on a narrow screen. */
export function ChatView() {
  const t = texts.value;
  const listIsOpen = useSignal(false);
  const closeList = (): void => void (listIsOpen.value = false);
  const closeInspector = (): void => void (inspected.value = null);
  const turnId = inspected.value;
  return (
    <div class={`chat${turnId !== null && !isNarrow.value ? " with-inspector" : ""}`}>
      {isNarrow.value ? (
        listIsOpen.value && (
          <Modal title={t.conversations.title} side="start" onClose={closeList}>
            <ConversationList onLeave={closeList} />
          </Modal>
        )
      ) : (
        <div class="side">
          <ConversationList onLeave={() => undefined} />
        </div>
      )}
      <section class="talk" aria-label={t.views.chat}>
        {isNarrow.value && (
          <button type="button" class="open-list" onClick={() => (listIsOpen.value = true)}>
            <span aria-hidden="true">☰</span> {t.conversations.title}
          </button>
        )}
        <OfflineRemark />
        <Thread />
        <ContextGauge />
        <Composer />
      </section>
      {turnId !== null &&
        (isNarrow.value ? (
          <Modal title={t.inspector.title} side="end" onClose={closeInspector}>
            <Inspector turnId={turnId} />
          </Modal>
        ) : (
          <aside class="side inspector-side" aria-label={t.inspector.title}>
            <header class="panel-head">
              <h2>{t.inspector.title}</h2>
              <IconButton label={t.close} onClick={closeInspector} />
            </header>
            <Inspector turnId={turnId} />
          </aside>
        ))}
    </div>
  );
}
