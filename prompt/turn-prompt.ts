import { type ConversationState, type CoreSection, looksOnly } from "../turn/state.ts";
import type { Notice } from "../turn/events.ts";
import type { Sight } from "../models/facts/sight.ts";
import { type AssembledPrompt, assemblePrompt } from "./assemble-prompt.ts";
import type { ContextShares } from "../turn/context.ts";
import { type Instructions, instructionsNotice } from "./instructions.ts";

function oldestMessages(count: number): string {
  return count === 1 ? "the oldest recent message is left out" : `the oldest ${count} recent messages are left out`;
}

/** Null when everything is in the prompt unchanged. */
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

/** Tells what the prompt of a turn could not hold. */
export function promptNotices(prompt: TurnPrompt, tokenBudget: number): Notice[] {
  const { windowIsWhole } = prompt;
  return [instructionsNotice(prompt.instructions, tokenBudget), promptLimitNotice(prompt, { windowIsWhole, tokenBudget })].filter(
    (notice) => notice !== null,
  );
}

/** A knowledge base's instructions are for the turns that it answers. */
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

export interface PromptSettings {
  /** The service's own. */
  instructions: string;
  /** How the room is divided. Default: `DEFAULT_SHARES`. */
  shares?: ContextShares | undefined;
  sight: Sight;
}

/**
 * The prompt of a turn for a model, by its name. It has the agent's instructions, without the layers of memory that the agent switches off.
 */
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

/** The sections for the prompt; empty when an erase happened between the parallel reads of `history` and `core_memory`. */
export function usableCoreMemory(state: Pick<ConversationState, "coreMemory" | "coreMemoryErasure" | "lastErasure">): CoreSection[] {
  return state.coreMemoryErasure === state.lastErasure ? state.coreMemory : [];
}
