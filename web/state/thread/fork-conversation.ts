import { forkConversation } from "../../api/endpoints.ts";
import { loadConversations } from "../conversations/conversations.ts";
import { chatAddress, goTo } from "../page/route.ts";
import { nameSession } from "../../browser/session-names.ts";
import { conversationId } from "./thread.ts";

/** Starts and shows a conversation with the messages of the shown one, up to one of them or all. Throws ApiError. */
export async function continueInAnother(at?: string): Promise<void> {
  const id = conversationId.value;
  if (id === null) return;
  const { conversation_id: fork } = await forkConversation(id, { session_id: nameSession(), ...(at === undefined ? {} : { at }) });
  await loadConversations();
  if (conversationId.value !== id) return;
  goTo(chatAddress(fork));
  document.getElementById("message")?.focus();
}
