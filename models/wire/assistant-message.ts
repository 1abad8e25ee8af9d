import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { Echo } from "../../turn/echo.ts";

function toArguments(given: unknown): Record<string, unknown> {
  return typeof given === "object" && given !== null && !Array.isArray(given) ? (given as Record<string, unknown>) : { text: given };
}

/** An answer with calls as it goes back to a model. `echo`: what its server wants back. */
export function assistantMessage({
  text,
  calls,
  echo,
}: {
  text: string;
  calls: readonly { id: string; name: string; arguments: unknown }[];
  echo: Echo | null;
}): AIMessage {
  return new AIMessage({
    content: text,
    tool_calls: calls.map(({ id, name, arguments: given }) => ({ id, name, args: toArguments(given) })),
    ...(echo ? { additional_kwargs: { echo } } : {}),
  });
}

/** What a server wants back with this message. */
export const echoOf = ({ additional_kwargs: { echo } }: BaseMessage): Echo | undefined => echo as Echo | undefined;
