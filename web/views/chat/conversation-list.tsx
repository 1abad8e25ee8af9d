import { useState } from "preact/hooks";
import { eraseConversation } from "../../api/endpoints.ts";
import type { Conversation } from "../../api/types.ts";
import {
  conversations,
  conversationsError,
  conversationsLoaded,
  loadConversations,
  loadMoreConversations,
  nextConversations,
} from "../../state/conversations.ts";
import { isOver } from "../../state/live-turn.ts";
import { openQuestions } from "../../state/questions.ts";
import { chatAddress } from "../../state/route.ts";
import { userId } from "../../state/settings.ts";
import { beginConversation, conversationId } from "../../state/thread.ts";
import { forgetTurns, liveTurns } from "../../state/turns.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { Button, IconButton, PrimaryButton, QuietButton } from "../button.tsx";
import { Confirm } from "../confirm.tsx";
import { ErrorNote } from "../error-note.tsx";
import { ImportDialog } from "./import-dialog.tsx";

function isAnswering({ session_id }: Conversation): boolean {
  return liveTurns.value.some((turn) => turn.body.session_id === session_id && turn.body.user_id === userId.value && !isOver(turn));
}

const isWaiting = ({ id }: Conversation): boolean => openQuestions.value.some(({ conversation_id }) => conversation_id === id);

function Row({ conversation, onErase }: { conversation: Conversation; onErase: () => void }) {
  const t = texts.value.conversations;
  const title = conversation.title ?? conversation.session_id;
  return (
    <li class="conversation">
      <a href={chatAddress(conversation.id)} aria-current={conversation.id === conversationId.value ? "page" : undefined}>
        <span class="conversation-title" dir="auto">
          {title}
        </span>
        <span class="quiet small">
          {isWaiting(conversation) ? (
            <span class="badge waits">{texts.value.questions.waits}</span>
          ) : isAnswering(conversation) ? (
            t.answering
          ) : (
            `${showTime(conversation.updated_at)} · ${t.messages(conversation.message_count)}`
          )}
        </span>
      </a>
      <IconButton label={`${t.erase}: ${title}`} onClick={onErase} />
    </li>
  );
}

/** The user's conversations, newest first. `onLeave` is called when one was chosen. */
export function ConversationList({ onLeave }: { onLeave: () => void }) {
  const t = texts.value.conversations;
  const [erasing, setErasing] = useState<Conversation | null>(null);
  const [isImporting, setIsImporting] = useState(false);

  async function erase(conversation: Conversation): Promise<void> {
    await eraseConversation(conversation.id);
    if (userId.value !== null) forgetTurns(userId.value, conversation.session_id);
    if (conversationId.value === conversation.id) beginConversation();
    await loadConversations();
    setErasing(null);
  }

  return (
    <nav class="conversations" aria-label={t.title} onClick={({ target }) => target instanceof Element && target.closest("a") && onLeave()}>
      <div class="conversation-actions">
        <PrimaryButton onClick={() => (beginConversation(), onLeave())}>{t.fresh}</PrimaryButton>
        <Button onClick={() => setIsImporting(true)}>{t.import}</Button>
      </div>
      {conversationsError.value && <ErrorNote error={conversationsError.value} />}
      {conversationsLoaded.value && conversations.value.length === 0 && <p class="quiet">{t.none}</p>}
      <ul class="plain-list">
        {conversations.value.map((conversation) => (
          <Row key={conversation.id} conversation={conversation} onErase={() => setErasing(conversation)} />
        ))}
      </ul>
      {nextConversations.value !== null && <QuietButton onClick={loadMoreConversations}>{texts.value.more}</QuietButton>}
      {erasing && (
        <Confirm title={t.erase} go={t.eraseGo} action={() => erase(erasing)} onClose={() => setErasing(null)}>
          {t.eraseAsk}
        </Confirm>
      )}
      {isImporting && <ImportDialog onClose={() => setIsImporting(false)} onOpen={onLeave} />}
    </nav>
  );
}
