import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { keyDialog } from "../../api/api-key.ts";
import { loadConversations } from "../../state/conversations/conversations.ts";
import { place } from "../../state/page/route.ts";
import { userId } from "../../state/page/settings.ts";
import { listenForShortcuts } from "./shortcuts.ts";
import { loadViewTexts, texts } from "../../texts/texts.ts";
import { ChatView } from "../chat/chat-view.tsx";
import { KeyDialog } from "../key-dialog.tsx";
import { UndoToast } from "../chat/undo-toast.tsx";
import { lazy } from "../lazy.tsx";
import { submitting } from "../loaded.tsx";
import { TopBar } from "./top-bar.tsx";
import { WhoIsTalking } from "../who-is-talking.tsx";

const withTexts = (load: () => Promise<ComponentType>) => lazy(() => Promise.all([load(), loadViewTexts()]).then(([view]) => view));

/** Loaded when shown. */
const VIEWS = {
  chat: ChatView,
  memory: lazy(() => import("../memory/memory-view.tsx").then((script) => script.MemoryView)),
  documents: withTexts(() => import("../documents/documents-view.tsx").then((script) => script.DocumentsView)),
  agents: withTexts(() => import("../agents/agents-view.tsx").then((script) => script.AgentsView)),
  service: withTexts(() => import("../service/service-view.tsx").then((script) => script.ServiceView)),
};
const SettingsDialog = lazy(() => import("../settings-dialog.tsx").then((script) => script.SettingsDialog));

export function App() {
  const settingsAreOpen = useSignal(false);
  const Shown = VIEWS[place.value.view];
  useEffect(() => listenForShortcuts(() => (settingsAreOpen.value = true)), []);
  useEffect(() => void loadConversations(), []);
  return (
    <>
      <a class="skip" href="#content" onClick={submitting(() => document.getElementById("content")?.focus())}>
        {texts.value.skip}
      </a>
      <TopBar onSettings={() => (settingsAreOpen.value = true)} />
      <main id="content" tabIndex={-1}>
        {userId.value === null ? <WhoIsTalking /> : <Shown />}
      </main>
      {settingsAreOpen.value && <SettingsDialog onClose={() => (settingsAreOpen.value = false)} />}
      <UndoToast />
      {keyDialog.value && <KeyDialog />}
    </>
  );
}
