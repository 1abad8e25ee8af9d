import { AIMessage, HumanMessage, RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import type { ConversationState, ConversationUpdate, WindowMessage } from "../turn/state.ts";

function toMessage({ id, role, content }: WindowMessage): BaseMessage {
  return role === "user" ? new HumanMessage({ id, content }) : new AIMessage({ id, content });
}

/** The changes that make the thread's messages equal the store's, even if the thread was edited, forked or missed turns. */
function changeMessages({ messages: thread, recentMessages }: ConversationState, turn: BaseMessage[]): BaseMessage[] {
  if (thread.length === 0) return turn;
  const known = new Set(recentMessages.map(({ id }) => id));
  const shared = thread.findIndex(({ id }) => id !== undefined && known.has(id));
  // Messages before the first shared one are older than the window.
  const older = thread.slice(0, Math.max(shared, 0));
  const window = recentMessages.slice(recentMessages.findIndex(({ id }) => id === thread[shared]?.id));
  const stored = [...older, ...(shared < 0 ? recentMessages : window).map(toMessage), ...turn];

  const storedIds = new Set(stored.map(({ id }) => id));
  const threadIds = new Set(thread.map(({ id }) => id));
  const kept = thread.filter(({ id }) => storedIds.has(id));
  const missing = stored.filter(({ id }) => !threadIds.has(id));
  const staysInOrder = [...kept, ...missing].every(({ id }, index) => id === stored[index]?.id);
  if (!staysInOrder) return [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...stored];
  const unknown = thread.flatMap(({ id }) => (id === undefined || storedIds.has(id) ? [] : [new RemoveMessage({ id })]));
  return [...unknown, ...missing];
}

/** A generator's answer under the id it is stored with. An empty answer is not stored. */
export function answerUpdate(state: ConversationState, id: string, answer: string): ConversationUpdate {
  const asked = new HumanMessage({ id: state.currentMessageId, content: state.message });
  const whole = (state.continued?.text ?? "") + answer;
  return {
    answer,
    answerMessageId: answer === "" ? null : id,
    messages: changeMessages(state, answer === "" ? [asked] : [asked, new AIMessage({ id, content: whole })]),
  };
}
