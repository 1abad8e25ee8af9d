import { readStatus } from "../../api/endpoints.ts";
import { cited, closePanel, inspected, listIsOpen } from "../../state/side-panel.ts";
import { isNarrow, userId } from "../../state/settings.ts";
import { texts } from "../../texts/texts.ts";
import { IconButton } from "../button.tsx";
import { lazy } from "../lazy.tsx";
import { useLoaded } from "../loaded.tsx";
import { Modal } from "../modal.tsx";
import { CitedPassage } from "./cited-passage.tsx";
import { Composer } from "./composer.tsx";
import { ContextGauge } from "./context-gauge.tsx";
import { ConversationList } from "./conversation-list.tsx";
import { Thread } from "./thread.tsx";

const Inspector = lazy(() => import("../inspector/inspector.tsx").then((script) => script.Inspector));

/** Says once that nothing but quotes is to be expected. */
function OfflineRemark() {
  const { value } = useLoaded(readStatus, [userId.value]);
  return value?.models.chat === "offline" ? <p class="note offline">{texts.value.chat.offline}</p> : null;
}

/** The details of a turn, or a cited passage, beside the thread or over it. */
function SidePanel() {
  const t = texts.value;
  const turnId = inspected.value;
  const source = cited.value;
  if (turnId === null && source === null) return null;
  const title = source ? t.chat.citedTitle : t.inspector.title;
  const content = source ? <CitedPassage source={source} /> : turnId !== null && <Inspector turnId={turnId} />;
  if (isNarrow.value) {
    return (
      <Modal title={title} side="end" onClose={closePanel}>
        {content}
      </Modal>
    );
  }
  return (
    <aside class="side inspector-side" aria-label={title}>
      <header class="panel-head">
        <h2>{title}</h2>
        <IconButton label={t.close} onClick={closePanel} />
      </header>
      {content}
    </aside>
  );
}

/** Conversations, the thread, and what is inside an answer: side by side, or as drawers on a narrow screen. */
export function ChatView() {
  const t = texts.value;
  const closeList = (): void => void (listIsOpen.value = false);
  const hasPanel = inspected.value !== null || cited.value !== null;
  return (
    <div class={`chat${hasPanel && !isNarrow.value ? " with-inspector" : ""}`}>
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
        <OfflineRemark />
        <Thread />
        <ContextGauge />
        <Composer />
      </section>
      <SidePanel />
    </div>
  );
}
