import { AIMessage, HumanMessage, RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import type { ConversationState, ConversationUpdate, WindowMessage } from "../turn/state.ts";
import { NEAR_LIMIT, shareOf } from "../models/facts/prompt-budget.ts";
import type { ModelAnswer } from "../models/stream-answer.ts";
import { estimateTokens } from "../text/tokens.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import type { TurnUsage } from "../turn/usage.ts";
import type { AssembledPrompt } from "../prompt/assemble-prompt.ts";

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

/** The server's counts, else estimates. */
export function toUsage({ usage, text }: ModelAnswer, prompt: AssembledPrompt, tokenBudget: number): TurnUsage {
  const prompt_tokens = usage?.input_tokens ?? prompt.tokens;
  const completion_tokens = usage?.output_tokens ?? estimateTokens(text);
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: usage?.total_tokens ?? prompt_tokens + completion_tokens,
    estimated: !usage,
    cached_tokens: usage?.input_token_details?.cache_read ?? null,
    context_limit: tokenBudget,
    usage_ratio: shareOf(prompt_tokens, tokenBudget),
  };
}

/** Says once that the context is nearly full, and again only after a smaller prompt. */
export function tellNearLimit(
  runtime: TurnRuntime,
  { usage_ratio: ratio, context_limit: limit }: TurnUsage,
  state: ConversationState,
): void {
  if (ratio === null || limit === null || ratio < NEAR_LIMIT || state.lastUsageRatio >= NEAR_LIMIT) return;
  const message = `The prompt takes ${Math.round(100 * ratio)} % of the ${limit} tokens that it may have. Older messages are summarised soon.`;
  emit(runtime, { status: "notice", content: { code: "context_near_limit", message } });
}
