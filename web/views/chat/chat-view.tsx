import type { ComponentChildren } from "preact";
import { readStatus } from "../../api/endpoints.ts";
import { cited, closePanel, inspected, listIsOpen, openBranches, showsBranches } from "../../state/page/side-panel.ts";
import { isNarrow, userId } from "../../state/page/settings.ts";
import { pictureLimits } from "../../state/thread/chosen-pictures.ts";
import { conversationId } from "../../state/thread/thread.ts";
import { texts } from "../../texts/texts.ts";
import { IconButton, QuietButton } from "../button.tsx";
import { lazy } from "../lazy.tsx";
import { useLoaded } from "../loaded.tsx";
import { Modal } from "../modal.tsx";
import { SignPicture } from "../sign-button.tsx";
import { CitedPassage } from "./cited-passage.tsx";
import { Composer } from "./composer.tsx";
import { ContextGauge } from "./context-gauge.tsx";
import { ConversationList } from "./conversation-list.tsx";
import { Thread } from "./thread.tsx";

const Inspector = lazy(() => import("../inspector/inspector.tsx").then((script) => script.Inspector));

const BranchesPanel = lazy(() => import("../branches/branches-panel.tsx").then((script) => script.BranchesPanel));

async function readWhatIsTaken() {
  const status = await readStatus();
  pictureLimits.value = status.pictures;
  return status;
}

function OfflineRemark() {
  const { value } = useLoaded(readWhatIsTaken, [userId.value]);
  return value?.models.chat === "offline" ? <p class="note offline">{texts.value.chat.offline}</p> : null;
}

function panelContent(): { title: string; content: ComponentChildren } | null {
  const t = texts.value;
  if (cited.value) return { title: t.chat.citedTitle, content: <CitedPassage source={cited.value} /> };
  if (inspected.value !== null) return { title: t.inspector.title, content: <Inspector turnId={inspected.value} /> };
  if (!showsBranches.value || conversationId.value === null) return null;
  return { title: t.branches.title, content: <BranchesPanel conversationId={conversationId.value} /> };
}

function SidePanel() {
  const t = texts.value;
  const shown = panelContent();
  if (!shown) return null;
  const { title, content } = shown;
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

/** Conversations, the thread, and an answer's details: side by side, or as drawers on a narrow screen. */
export function ChatView() {
  const t = texts.value;
  const closeList = (): void => void (listIsOpen.value = false);
  const hasPanel = panelContent() !== null;
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
      <div class="talk">
        <h1 class="visually-hidden">{t.views.chat}</h1>
        <OfflineRemark />
        <Thread />
        {conversationId.value !== null && (
          <div class="talk-foot">
            <ContextGauge />
            <QuietButton onClick={() => (showsBranches.value ? closePanel() : openBranches())}>
              <SignPicture of="branches" /> {t.branches.title}
            </QuietButton>
          </div>
        )}
        <Composer />
      </div>
      <SidePanel />
    </div>
  );
}
