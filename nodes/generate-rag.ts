import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import type { ConversationState, ConversationUpdate, WindowMessage } from "../turn/state.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import { millisecondsSince, type Notice } from "../turn/events.ts";
import type { ModelPrices } from "../models/facts/model-facts.ts";
import { costOf } from "../models/facts/prompt-budget.ts";
import type { PromptLimits } from "../models/facts/prompt-limits.ts";
import type { AnswerTimeouts } from "../models/deadlines.ts";
import type { Sight } from "../models/facts/sight.ts";
import { askInTurn, type ChooseModels } from "../models/model-choice.ts";
import { formedAnswer } from "../models/formed-answer.ts";
import type { ModelAnswer } from "../models/stream-answer.ts";
import type { Observer } from "../observe/observer.ts";
import type { TurnStore } from "../stores/postgres/conversations/turn-store.ts";
import { type AssembledPrompt, assemblePrompt } from "./prompt/assemble-prompt.ts";
import type { ContextShares } from "../turn/context-shares.ts";
import { type MakeRoom, withRoom } from "./prompt/make-room.ts";
import { tellNearLimit } from "./prompt/near-limit.ts";
import { toUsage } from "./prompt/turn-usage.ts";
import { askWithinLimit, boundedOptions } from "./prompt/ask-within-limit.ts";
import { usableCoreMemory } from "./core-memory.ts";
import { type Instructions, instructionsNotice } from "./prompt/instructions.ts";
import { withLease } from "./turn-lease.ts";
import { looksOnly } from "./routing/route-by-words.ts";
import type { Node } from "./node.ts";

function oldestMessages(count: number): string {
  return count === 1 ? "the oldest recent message is left out" : `the oldest ${count} recent messages are left out`;
}

/** Null when everything is in the prompt as it is. */
export function promptLimitNotice(
  { leftOut, shortened }: Pick<AssembledPrompt, "leftOut" | "shortened">,
  { windowIsWhole, tokenBudget }: { windowIsWhole: boolean; tokenBudget: number },
): Notice | null {
  const missing = leftOut.messages > 0 || !windowIsWhole;
  if (!missing && shortened === 0) return null;
  const what = [
    ...(missing ? [windowIsWhole ? oldestMessages(leftOut.messages) : "older messages are left out"] : []),
    ...(shortened > 0 ? [`${shortened} long message${shortened === 1 ? " is" : "s are"} shortened`] : []),
  ];
  return {
    code: "context_trimmed",
    message: `The prompt is at its limit of ${tokenBudget} tokens: ${what.join(", and ")}. Nothing is lost in the store.`,
  };
}

export interface GenerateRagParts {
  chooseModels: ChooseModels;
  turns: TurnStore;
  leaseMs: number;
  timeouts: AnswerTimeouts;
  settings: PromptSettings;
  /** Null: nothing is summarised before an answer. */
  makeRoom: MakeRoom | null;
  limits: PromptLimits;
  /** Null: unknown. */
  prices: (model: string) => ModelPrices | null;
  observer: Observer;
}

/** What the prompt of a turn could not hold, to be told. */
export function promptNotices(prompt: TurnPrompt, tokenBudget: number): Notice[] {
  const { windowIsWhole } = prompt;
  return [instructionsNotice(prompt.instructions, tokenBudget), promptLimitNotice(prompt, { windowIsWhole, tokenBudget })].filter(
    (notice) => notice !== null,
  );
}

/** Those of a knowledge base are for the turns that it answers. */
function instructionsOf(state: ConversationState, ofService: string, aboutSkills: string): Instructions[] {
  const hasBase = !looksOnly(state) || state.retrievalResults.length > 0;
  const all: Instructions[] = [
    { from: "service", text: ofService },
    { from: "agent", text: [state.agent?.instructions ?? "", aboutSkills].filter((text) => text !== "").join("\n\n") },
    { from: "knowledge", text: hasBase ? state.kbInstructions : "" },
    { from: "caller", text: state.instructions },
  ];
  return all.filter(({ text }) => text.trim() !== "");
}

/** `windowIsWhole`: false when older messages are neither in it nor summarised. */
export interface TurnPrompt extends AssembledPrompt {
  windowIsWhole: boolean;
}

/** Whether messages are neither in a prompt nor summarised. */
export const isBlind = ({ leftOut, windowIsWhole }: TurnPrompt): boolean => leftOut.uncovered > 0 || !windowIsWhole;

/** What every prompt of the service has in common. */
export interface PromptSettings {
  /** Of the service. */
  instructions: string;
  /** How the room is divided. Default: as `DEFAULT_SHARES`. */
  shares?: ContextShares | undefined;
  sight: Sight;
}

/** The prompt of a turn for a model, by its name. An agent's instructions stand in it, and layers of memory that it switches off do not. */
export function promptOf(
  state: ConversationState,
  { instructions, shares, sight }: PromptSettings,
  { tokenBudget, model, aboutSkills = "" }: { tokenBudget: number; model: string; aboutSkills?: string },
): TurnPrompt {
  const { message, pictures, attachments, continued, agent } = state;
  const { summary: usesSummary = true, core_memory: usesCoreMemory = true } = agent?.memory ?? {};
  const usesDocuments = state.useRetrieval && !(looksOnly(state) && state.retrievalResults.length === 0);
  const prompt = assemblePrompt({
    instructions: instructionsOf(state, instructions, aboutSkills),
    coreMemory: usesCoreMemory ? usableCoreMemory(state) : [],
    summary: usesSummary ? state.conversationSummary : null,
    window: state.recentMessages,
    episodes: state.episodicMemory,
    documents: usesDocuments ? { passages: state.retrievalResults, isIncomplete: state.degraded.includes("knowledge") } : null,
    attachments,
    message,
    pictures,
    countPictures: (some) => sight.tokensOf(model, some),
    continued: continued?.text ?? "",
    tokenBudget,
    shares,
  });
  return { ...prompt, windowIsWhole: state.windowIsWhole };
}

/**
 * Assembles the prompt and streams the model's answer. A cancelled or failed call sets `partialAnswer` and `error` instead of throwing, so
 * that persist always runs. After an error of an earlier node the model is not asked.
 */
export function makeGenerateRag(parts: GenerateRagParts): Node {
  const { chooseModels, turns, leaseMs, timeouts, settings, makeRoom, limits, prices, observer } = parts;
  return async function generateRag(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const { tenantId, userId, conversationId, turnId, continued } = state;
    if (state.error) return { ...answerUpdate(state, "", ""), partialAnswer: true };
    const began = performance.now();
    let firstTokenMs: number | null = null;
    const answerId = continued?.answerId ?? turnId;
    const choices = chooseModels({ model: state.requestedModel, agent: state.agent });
    const held = { tenantId, userId, conversationId, turnId };
    const { prompt, answer, limit, answeredBy } = await withLease({ turns, leaseMs }, held, runtime.context?.signal, (signal) => {
      const ask = (
        model: BaseChatModel,
        prompt: TurnPrompt,
        maxTokens: number | undefined,
        patience: "short" | "long",
      ): Promise<ModelAnswer> =>
        formedAnswer({
          model,
          patience,
          prompt: prompt.messages,
          modelOptions: boundedOptions(state.modelOptions, maxTokens),
          timeouts,
          signal,
          callbacks: runtime.callbacks,
          messageId: answerId,
          watched: { observer, purpose: "chat" },
          onToken(content) {
            firstTokenMs ??= millisecondsSince(began);
            emit(runtime, { status: "token", content });
          },
          onThought: (content) => emit(runtime, { status: "thought", content }),
        });
      const within = {
        ...{ limits, runtime },
        ...{ sight: settings.sight, mustSee: state.pictures.length > 0 },
        onPrompt(prompt: TurnPrompt, tokenBudget: number) {
          for (const content of promptNotices(prompt, tokenBudget)) emit(runtime, { status: "notice", content });
        },
        strategy: "truncate",
      } as const;
      const assemble = withRoom({ makeRoom, state, runtime, signal }, (now, tokenBudget, model) =>
        promptOf(now, settings, { tokenBudget, model }),
      );
      return askInTurn(
        choices,
        ({ name, model }, { isLast }) =>
          askWithinLimit({
            ...{ ...within, model: name },
            assemble: (budget) => assemble(budget, name),
            ask: (prompt, maxTokens) => ask(model, prompt, maxTokens, isLast ? "long" : "short"),
          }),
        runtime.context?.onError,
      );
    });
    if (answer.error) runtime.context?.onError?.(answer.error);
    const usage = toUsage(answer, prompt, limit);
    tellNearLimit(runtime, usage, state);
    runtime.note?.({
      first_token_ms: firstTokenMs,
      model_ms: millisecondsSince(began),
      prompt_tokens: prompt.receipt.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      cut: answer.cut,
      window_messages: prompt.receipt.window_messages,
      left_out: prompt.leftOut.messages,
      error: answer.error?.code ?? null,
    });
    return {
      ...answerUpdate(state, answerId, answer.text),
      usage,
      cost: costOf(prices(answeredBy), usage),
      answeredBy,
      receipt: prompt.receipt,
      degraded: isBlind(prompt) ? ["summary"] : [],
      partialAnswer: answer.error !== null,
      cut: answer.cut,
      error: answer.error?.toContent() ?? null,
    };
  };
}

function toMessage({ id, role, content }: WindowMessage): BaseMessage {
  return role === "user" ? new HumanMessage({ id, content }) : new AIMessage({ id, content });
}

/** The changes that make the thread's messages those of the store, also when the thread was edited or forked or has missed turns. */
function changeMessages({ messages: thread, recentMessages }: ConversationState, turn: BaseMessage[]): BaseMessage[] {
  if (thread.length === 0) return turn;
  const known = new Set(recentMessages.map(({ id }) => id));
  const shared = thread.findIndex(({ id }) => id !== undefined && known.has(id));
  // Before the first shared message stands what is older than the window.
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

/** The answer in a generator's update, under the id it is stored with. An empty answer is not stored. */
export function answerUpdate(state: ConversationState, id: string, answer: string): ConversationUpdate {
  const asked = new HumanMessage({ id: state.currentMessageId, content: state.message });
  const whole = (state.continued?.text ?? "") + answer;
  return {
    answer,
    answerMessageId: answer === "" ? null : id,
    messages: changeMessages(state, answer === "" ? [asked] : [asked, new AIMessage({ id, content: whole })]),
  };
}
