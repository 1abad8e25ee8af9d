import { useState } from "preact/hooks";
import type { Conversation } from "../../api/types.ts";
import { changeConversation, titleOf } from "../../state/conversations/conversations.ts";
import { deleteLater } from "../../state/thread/delete-later.ts";
import { isOver } from "../../state/turns/live-turn.ts";
import { openQuestions } from "../../state/turns/questions.ts";
import { chatAddress } from "../../state/page/route.ts";
import { userId } from "../../state/page/settings.ts";
import { conversationId } from "../../state/thread/thread.ts";
import { liveTurns } from "../../state/turns/turns.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { useAction } from "../loaded.tsx";
import { Menu } from "../menu.tsx";

const MAX_TITLE = 200;

function isAnswering({ session_id }: Conversation): boolean {
  return liveTurns.value.some((turn) => turn.body.session_id === session_id && turn.body.user_id === userId.value && !isOver(turn));
}

const isWaiting = ({ id }: Conversation): boolean => openQuestions.value.some(({ conversation_id }) => conversation_id === id);

function State({ conversation }: { conversation: Conversation }) {
  const t = texts.value.conversations;
  if (isWaiting(conversation)) return <span class="badge waits">{texts.value.questions.waits}</span>;
  if (isAnswering(conversation)) return <>{t.answering}</>;
  return <>{`${showTime(conversation.updated_at)} · ${t.messages(conversation.message_count)}`}</>;
}

/** Enter and leaving the field keep the new title, Escape keeps the old one. */
function Rename({ conversation, onDone }: { conversation: Conversation; onDone: () => void }) {
  const t = texts.value.conversations;
  const { run, note } = useAction();
  async function save(field: HTMLInputElement): Promise<void> {
    const title = field.value.trim();
    const isSaved = title === "" || title === titleOf(conversation) || (await run(() => changeConversation(conversation, { title })));
    if (isSaved) onDone();
  }
  return (
    <div class="rename">
      <input
        type="text"
        dir="auto"
        aria-label={t.newTitle}
        maxLength={MAX_TITLE}
        defaultValue={titleOf(conversation)}
        ref={(field) => field?.select()}
        onBlur={({ currentTarget }) => void save(currentTarget)}
        onKeyDown={({ key, currentTarget, isComposing }) => {
          if (isComposing) return;
          if (key === "Escape") currentTarget.value = titleOf(conversation);
          if (key === "Enter" || key === "Escape") currentTarget.blur();
        }}
      />
      {note}
    </div>
  );
}

export function ConversationRow({ conversation }: { conversation: Conversation }) {
  const t = texts.value.conversations;
  const [isRenaming, setIsRenaming] = useState(false);
  const { run, note } = useAction();
  const { id, pinned, archived, forked_from } = conversation;
  const title = titleOf(conversation);
  const change = (changes: { pinned?: boolean; archived?: boolean }) => run(() => changeConversation(conversation, changes));
  if (isRenaming) {
    return (
      <li class="conversation">
        <Rename conversation={conversation} onDone={() => setIsRenaming(false)} />
      </li>
    );
  }
  return (
    <li class="conversation">
      <a href={chatAddress(id)} aria-current={id === conversationId.value ? "page" : undefined} title={title}>
        <span class="conversation-title" dir="auto">
          {pinned && (
            <span class="pin" role="img" aria-label={t.pinned}>
              ★{" "}
            </span>
          )}
          {forked_from && (
            <span role="img" aria-label={t.forked} title={t.forked}>
              ↳{" "}
            </span>
          )}
          {title}
        </span>
        <span class="quiet small">
          <State conversation={conversation} />
        </span>
      </a>
      <Menu label={t.actions(title)}>
        <Button onClick={() => setIsRenaming(true)}>{t.rename}</Button>
        <Button onClick={() => change({ pinned: !pinned })}>{pinned ? t.unpin : t.pin}</Button>
        <Button onClick={() => change({ archived: !archived })}>{archived ? t.unarchive : t.archive}</Button>
        <button type="button" class="danger" onClick={() => deleteLater(conversation)}>
          {t.erase}
        </button>
      </Menu>
      {note}
    </li>
  );
}
