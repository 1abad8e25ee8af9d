import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { keyDialog } from "../state/api-key.ts";
import { loadConversations } from "../state/conversations.ts";
import { place } from "../state/route.ts";
import { userId } from "../state/settings.ts";
import { listenForShortcuts } from "../state/shortcuts.ts";
import { texts } from "../texts/texts.ts";
import { ChatView } from "./chat/chat-view.tsx";
import { KeyDialog } from "./key-dialog.tsx";
import { submitting } from "./loaded.tsx";
import { MemoryView } from "./memory/memory-view.tsx";
import { ServiceView } from "./service/service-view.tsx";
import { SettingsDialog } from "./settings-dialog.tsx";
import { TopBar } from "./top-bar.tsx";
import { WhoIsTalking } from "./who-is-talking.tsx";

const VIEWS = { chat: ChatView, memory: MemoryView, service: ServiceView };

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
      {keyDialog.value && <KeyDialog />}
    </>
  );
}
