import { toAppError } from "../errors/app-error.ts";
import type { CompactConversation } from "../memory/summary/summarise-conversation.ts";
import { startDeadline } from "../turn/deadlines.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import { type ConversationState, type ConversationSummary, uncoveredMessages } from "../turn/state.ts";
import { compressed } from "./ask-model.ts";
import type { AssembledPrompt } from "./assemble-prompt.ts";
import type { StoredSummary } from "../stores/postgres/memory/summary-store.ts";

export interface MakeRoomParts {
  compact: CompactConversation;
  historyWindow: number;
  /** Milliseconds that an answer waits for a summary. */
  deadlineMs: number;
}

/** After a failed or late summary, this process's turns do not wait for it for so long. */
const PAUSE_MS = 60_000;

/** A turn's fields that change when older messages are summarised. */
type Compacted = Pick<ConversationState, "conversationSummary" | "recentMessages" | "windowIsWhole">;

export type MakeRoom = (
  state: ConversationState,
  prompt: AssembledPrompt,
  runtime: TurnRuntime,
  signal: AbortSignal,
) => Promise<Compacted | null>;

export function toConversationSummary({ text, version, coveredMessageCount, coveredThrough, parts }: StoredSummary): ConversationSummary {
  const { createdAt, id } = coveredThrough;
  return { text, version, coveredMessageCount, coveredThrough: { createdAt: createdAt.toISOString(), messageId: id }, parts };
}

/**
 * Summarises older messages before the answer when a prompt has no room for them. Null: nothing changes, because all fits, there is nothing
 * to summarise, or the summary is late.
 */
export function makeMakeRoom({ compact, historyWindow, deadlineMs }: MakeRoomParts): MakeRoom {
  let pausedUntil = 0;
  return async function makeRoom(state, prompt, runtime, signal) {
    const { tenantId, userId, conversationId, conversationSummary, recentMessages, windowIsWhole, agent } = state;
    if (agent?.memory.summary === false || performance.now() < pausedUntil) return null;
    const isCut = prompt.leftOut.uncovered > 0 || prompt.shortenedInWindow > 0 || !windowIsWhole;
    const before = uncoveredMessages(recentMessages, conversationSummary).length - historyWindow;
    if (!isCut || (before < 1 && windowIsWhole)) return null;
    using deadline = startDeadline(deadlineMs, signal);
    try {
      const stored = await compact({ tenantId, userId, conversationId }, deadline.signal);
      if (!stored) return null;
      const summary = toConversationSummary(stored);
      const behind = uncoveredMessages(recentMessages, summary);
      return {
        conversationSummary: summary,
        recentMessages: behind.length >= historyWindow ? behind : recentMessages.slice(-historyWindow),
        windowIsWhole: true,
      };
    } catch (error) {
      signal.throwIfAborted();
      pausedUntil = performance.now() + PAUSE_MS;
      runtime.context?.onError?.(toAppError(error));
      return null;
    }
  };
}

interface WithRoomParts {
  makeRoom: MakeRoom | null;
  state: ConversationState;
  runtime: TurnRuntime;
  signal: AbortSignal;
}

/** Assembles a turn's prompts. The first without room for older messages has them summarised, and is made again. */
export function withRoom<Prompt extends AssembledPrompt>(
  { makeRoom, state, runtime, signal }: WithRoomParts,
  assemble: (state: ConversationState, tokenBudget: number, model: string) => Prompt,
): (tokenBudget: number, model: string) => Promise<Prompt> {
  let now = state;
  let isMade = makeRoom === null;
  return async function assembleWithRoom(tokenBudget, model) {
    const prompt = assemble(now, tokenBudget, model);
    const compacted = isMade ? null : await makeRoom?.(now, prompt, runtime, signal);
    if (!compacted) return prompt;
    isMade = true;
    now = { ...now, ...compacted };
    const after = assemble(now, tokenBudget, model);
    emit(runtime, { status: "context_compressed", content: compressed("summarize", prompt, after, tokenBudget) });
    return after;
  };
}
