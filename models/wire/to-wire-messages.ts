import type { BaseMessage } from "@langchain/core/messages";
import { convertMessagesToCompletionsMessageParams } from "@langchain/openai";
import { echoOf } from "./assistant-message.ts";
import type { WireMessage } from "./wire-message.ts";

/** LangChain's messages for OpenAI, with what this server wants back. */
export function toWireMessages(messages: readonly BaseMessage[], from: string | null): WireMessage[] {
  return messages.flatMap((message): WireMessage[] => {
    const [wire, ...others] = convertMessagesToCompletionsMessageParams({ messages: [message] }) as unknown as WireMessage[];
    if (!wire) return [];
    const echo = echoOf(message);
    if (echo?.from !== from) return [wire, ...others];
    const calls = wire.tool_calls?.map((call) => {
      const { function: within, ...fields } = (echo.calls?.[call.id] ?? {}) as { function?: object };
      return { ...call, ...fields, function: { ...call.function, ...within } };
    });
    return [{ ...wire, ...echo.message, ...(calls ? { tool_calls: calls } : {}) }, ...others];
  });
}
