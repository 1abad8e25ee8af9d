import { place, type View, viewAddresses } from "../../state/page/route.ts";
import { conversationId } from "../../state/thread/thread.ts";
import { isNarrow, userId } from "../../state/page/settings.ts";
import { listIsOpen } from "../../state/page/side-panel.ts";
import { texts } from "../../texts/texts.ts";
import { Bell } from "../questions/bell.tsx";
import { ViewLinks } from "../view-links.tsx";

export function TopBar({ onSettings }: { onSettings: () => void }) {
  const t = texts.value;
  const addresses = viewAddresses(conversationId.value);
  return (
    <header class="top-bar">
      {isNarrow.value && userId.value !== null && place.value.view === "chat" && (
        <button type="button" class="icon" aria-label={t.conversations.title} onClick={() => (listIsOpen.value = true)}>
          <span aria-hidden="true">☰</span>
        </button>
      )}
      <span class="brand" aria-hidden="true">
        <i class="logo" />
        <span>conversation-graph</span>
      </span>
      {userId.value !== null && (
        <ViewLinks
          label="conversation-graph"
          class="views"
          names={Object.keys(addresses) as View[]}
          addressOf={(view) => addresses[view]}
          titleOf={(view) => t.views[view]}
          shown={place.value.view}
        />
      )}
      <span class="top-end">
        {userId.value !== null && <Bell />}
        <button type="button" class="who" onClick={onSettings}>
          <span class="who-name" dir="auto">
            {userId.value ?? ""}
          </span>
          <span class="visually-hidden">{t.settings.open}</span>
          <span aria-hidden="true">⚙</span>
        </button>
      </span>
    </header>
  );
}
