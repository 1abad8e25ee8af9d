import { conversations, titleOf } from "../../state/conversations/conversations.ts";
import { chatAddress } from "../../state/page/route.ts";
import { conversationId } from "../../state/thread/thread.ts";
import { texts } from "../../texts/texts.ts";

/** Links a fork to the message where it leaves its origin. */
export function ForkedFrom() {
  const t = texts.value.conversations;
  const from = conversations.value.find(({ id }) => id === conversationId.value)?.forked_from;
  if (!from) return null;
  const origin = conversations.value.find(({ id }) => id === from.conversation_id);
  return (
    <p class="forked-from quiet small">
      {t.forkedFrom} <a href={chatAddress(from.conversation_id, from.message_id)}>{origin ? titleOf(origin) : t.another}</a>
    </p>
  );
}
