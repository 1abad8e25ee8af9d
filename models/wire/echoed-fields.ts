/** Fields of a message that servers want back: DeepSeek and its like, OpenRouter, Gemini, Anthropic behind gateways. */
export const ECHOED = [
  "reasoning_content",
  "reasoning",
  "reasoning_details",
  "thinking_blocks",
  "extra_content",
  "thought_signature",
  "reasoning_signature",
  "encrypted_content",
] as const;

/** Every call has these. Other fields are its server's own. */
const OF_EVERY_CALL = new Set(["index", "id", "type", "function", "name", "arguments"]);

export const ownFields = (call: object): [name: string, value: unknown][] =>
  Object.entries(call).filter(([name]) => !OF_EVERY_CALL.has(name));

/** Whether this message or its calls have fields that its server wants back. */
export const hasEcho = (message: { tool_calls?: readonly object[] }): boolean =>
  ECHOED.some((name) => name in message) || (message.tool_calls ?? []).some((call) => ownFields(call).length > 0);
