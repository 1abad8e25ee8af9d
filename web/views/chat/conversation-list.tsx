import { useState } from "preact/hooks";
import { listConversations } from "../../api/endpoints.ts";
import type { Conversation } from "../../api/types.ts";
import {
  conversations,
  conversationsError,
  conversationsLoaded,
  isShown,
  loadMoreConversations,
  nextConversations,
  showArchived,
  showsArchived,
  titleOf,
} from "../../state/conversations/conversations.ts";
import { userId } from "../../state/page/settings.ts";
import { beginConversation } from "../../state/thread/thread.ts";
import { texts } from "../../texts/texts.ts";
import { Button, PrimaryButton, QuietButton } from "../button.tsx";
import { ErrorNote } from "../error-note.tsx";
import { lazy } from "../lazy.tsx";
import { useLoaded } from "../loaded.tsx";
import { ConversationRow } from "./conversation-row.tsx";
import { FoundMessages, useSettled } from "./found-messages.tsx";

const ImportDialog = lazy(() => import("./import-dialog.tsx").then((script) => script.ImportDialog));

/** Pinned conversations first, then the newest. `onLeave` is called after a choice. */
export function ConversationList({ onLeave }: { onLeave: () => void }) {
  const t = texts.value.conversations;
  const [isImporting, setIsImporting] = useState(false);
  const [sought, setSought] = useState("");
  const wanted = sought.trim();
  const settled = useSettled(wanted);
  const owner = userId.value ?? "";
  const find = async () => (settled === "" ? null : listConversations(owner, { archived: "any", words: settled }));
  const { value: found } = useLoaded(find, [owner, settled, conversations.value]);
  const listed = wanted === "" || wanted !== settled ? null : found?.conversations;
  const isIt = (conversation: Conversation): boolean => titleOf(conversation).toLowerCase().includes(wanted.toLowerCase());
  const shown = listed?.filter(isShown) ?? conversations.value.filter(isIt);

  return (
    <nav class="conversations" aria-label={t.title} onClick={({ target }) => target instanceof Element && target.closest("a") && onLeave()}>
      <div class="conversation-actions">
        <PrimaryButton onClick={() => (beginConversation(), onLeave())}>{t.fresh}</PrimaryButton>
        <Button onClick={() => setIsImporting(true)}>{t.import}</Button>
      </div>
      <input
        type="search"
        dir="auto"
        aria-label={t.search}
        placeholder={t.searchShort}
        value={sought}
        onInput={({ currentTarget }) => setSought(currentTarget.value)}
      />
      {conversationsError.value && <ErrorNote error={conversationsError.value} />}
      {showsArchived.value && <h2>{t.archived}</h2>}
      {conversationsLoaded.value && shown.length === 0 && wanted === "" && <p class="quiet">{t.none}</p>}
      <ul class="plain-list">
        {shown.map((conversation) => (
          <ConversationRow key={conversation.id} conversation={conversation} />
        ))}
      </ul>
      {wanted === "" && nextConversations.value !== null && <QuietButton onClick={loadMoreConversations}>{texts.value.more}</QuietButton>}
      {wanted === "" ? (
        <QuietButton onClick={() => showArchived(!showsArchived.value)}>{showsArchived.value ? t.leaveArchive : t.archived}</QuietButton>
      ) : (
        settled !== "" && <FoundMessages words={settled} />
      )}
      {isImporting && <ImportDialog onClose={() => setIsImporting(false)} onOpen={onLeave} />}
    </nav>
  );
}
