import { type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { type AgentTool, offeredTool } from "../tool.ts";
import type { Sight } from "../../models/facts/sight.ts";
import { hasPictures, picturedMessage, pictureTokensIn, withoutPictures } from "../../models/wire/pictured-message.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../../text/tokens.ts";
import { MOST_PICTURE_BYTES, type Picture } from "../../turn/picture.ts";
import type { FittingPrompt } from "../../prompt/ask-model.ts";

/** Most tools are the same in every turn. */
const tokensOfTool = new WeakMap<AgentTool["tool"], number>();

function schemaTokens(tool: AgentTool): number {
  const known = tokensOfTool.get(tool.tool);
  if (known !== undefined) return known;
  const { name, description, parameters } = offeredTool(tool).function;
  const tokens = estimateTokens(JSON.stringify([name, description, parameters])) + TOKENS_PER_MESSAGE;
  tokensOfTool.set(tool.tool, tokens);
  return tokens;
}

/** Tokens of the tools' names, descriptions and schemas in a request. */
export function toolTokens(tools: readonly AgentTool[]): number {
  return tools.reduce((sum, tool) => sum + schemaTokens(tool), 0);
}

function tokensOf(message: BaseMessage): number {
  const calls =
    "tool_calls" in message && Array.isArray(message.tool_calls) && message.tool_calls.length > 0 ? JSON.stringify(message.tool_calls) : "";
  return estimateTokens(message.text + calls) + pictureTokensIn([message]) + TOKENS_PER_MESSAGE;
}

export const tokensOfMessages = (messages: readonly BaseMessage[]): number => messages.reduce((sum, message) => sum + tokensOf(message), 0);

/** Shortens messages towards `budget` tokens: drops tools' outputs, oldest first, except skills', and pictures from `loopStart` on. */
export function leaveOutOldOutputs(
  messages: readonly BaseMessage[],
  budget: number,
  loopStart = messages.length,
): { messages: BaseMessage[]; tokens: number } {
  let tokens = tokensOfMessages(messages);
  const fitting = messages.map((message, index) => {
    if (tokens <= budget) return message;
    if (index >= loopStart && hasPictures([message])) {
      tokens -= pictureTokensIn([message]);
      return withoutPictures([message])[0] ?? message;
    }
    if (!(message instanceof ToolMessage) || message.name === "load_skill") return message;
    const placeholder = `[output of ${message.name ?? "a tool"} left out, ${estimateTokens(message.text)} tokens]`;
    const shorter = new ToolMessage({ tool_call_id: message.tool_call_id, name: message.name ?? "", content: placeholder });
    const gain = tokensOf(message) - tokensOf(shorter);
    if (gain <= 0) return message;
    tokens -= gain;
    return shorter;
  });
  return { messages: fitting, tokens };
}

/** A loop's messages: what first stood before it, the same for so many tokens, and what came since. */
export interface LoopMessages {
  start: readonly BaseMessage[];
  again: (tokenBudget: number) => Promise<BaseMessage[]>;
  behind: readonly BaseMessage[];
}

/** Fits a loop and its tools into `budget` tokens: tools' outputs give way first, then what stood before the loop. */
export async function fitLoop({ start, again, behind }: LoopMessages, budget: number, schemas: number): Promise<FittingPrompt> {
  const pruned = leaveOutOldOutputs([...start, ...behind], budget - schemas, start.length);
  if (pruned.tokens <= budget - schemas) return { messages: pruned.messages, tokens: pruned.tokens + schemas, isWhole: true };
  const kept = pruned.messages.slice(start.length);
  const messages = [...(await again(Math.max(0, budget - tokensOfMessages(kept)))), ...kept];
  return { messages, tokens: tokensOfMessages(messages) + schemas, isWhole: true };
}

interface Looker {
  sight: Pick<Sight, "sees" | "tokensOf">;
  /** Its name. */
  model: string;
}

/** After the results, since servers take no pictures in them. A blind model reads that they were left out. */
export const picturesOfResults = (pictures: readonly Picture[], looker: Looker): BaseMessage[] => makeShowPictures(looker)(pictures);

/** The most bytes of all pictures of a loop. Models' servers take little more in one request. */
const MOST_BYTES = 2 * MOST_PICTURE_BYTES;

/** The same for each round of a loop. Pictures without room are left out. */
export function makeShowPictures({ sight, model }: Looker): (pictures: readonly Picture[]) => BaseMessage[] {
  let left = MOST_BYTES;
  return (pictures) => {
    if (pictures.length === 0) return [];
    const which = `${pictures.length === 1 ? "A picture" : `${pictures.length} pictures`} of the results of the calls`;
    if (sight.sees(model) === false) return [new HumanMessage(`[${which}: left out, since this model cannot see]`)];
    const shown = pictures.filter(({ file }) => {
      const bytes = file?.byteCount ?? 0;
      if (bytes > left) return false;
      left -= bytes;
      return true;
    });
    const tokens = sight.tokensOf(model, shown);
    return [picturedMessage(`[${which}. Where none is shown here, it was left out]`, shown, { tokens })];
  };
}
