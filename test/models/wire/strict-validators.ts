import {
  all,
  answered,
  callsOf,
  type Check,
  each,
  hasCalls,
  isBlank,
  isEmpty,
  isPicture,
  NAME,
  only,
  partsOf,
  withoutSystem,
} from "./wire-checks.ts";

const FOLLOWS: Record<string, readonly string[]> = {
  system: ["user", "assistant", "system"],
  user: ["assistant", "system", "user"],
  assistant: ["assistant", "user", "tool"],
  // mistral-common has let users follow tools since v1.11.1; Mistral's API does not (NousResearch/hermes-agent#20154, aaif-goose/goose#5998).
  tool: ["assistant", "tool"],
};

/**
 * Mistral's API, and vLLM with Mistral's tokenizer: mistralai/mistral-common, src/mistral_common/protocol/instruct/validator.py, class
 * MistralRequestValidatorV13 with the ids of V3, mode "serving"; and tests/data/chat_templates/v7.jinja, where the first is system or user.
 */
export const mistralCommon: Check = all(
  ([first]) => (first?.role === "system" || first?.role === "user" ? null : "Conversation must start with a user or system message"),
  (messages) =>
    messages.length === 1 || ["user", "tool"].includes(messages.at(-1)?.role ?? "") ? null : "Expected last role User or Tool for serving",
  each(({ role }, index, messages) => {
    const before = messages[index - 1]?.role;
    return before === undefined || FOLLOWS[before]?.includes(role) ? null : `Unexpected role '${role}' after role '${before}'`;
  }),
  answered,
  each((message) => {
    const parts = partsOf(message);
    if (parts.some((part) => part.type !== "text" && !(message.role === "user" && isPicture(part))))
      return "Unexpected content chunk types";
    if (message.role === "tool" && message.name !== undefined && !NAME.test(message.name)) return `Function name was ${message.name}`;
    if (message.role === "tool" && !/^[a-zA-Z0-9]{9}$/.test(message.tool_call_id ?? "")) return `Tool call id was ${message.tool_call_id}`;
    const bad = callsOf(message).find(({ id, function: { name } }) => !/^[a-zA-Z0-9]{9}$/.test(id) || !NAME.test(name));
    if (bad) return `Tool call id was ${bad.id}, function name was ${bad.function.name}`;
    return message.role === "assistant" && isEmpty(message) && !hasCalls(message) ? "Assistant message must have content or calls" : null;
  }),
);

/** Class MistralRequestValidatorV3 of the same file, and tests/data/chat_templates/v3.jinja. */
export const mistralCommonV3: Check = all(
  mistralCommon,
  (messages) => (withoutSystem(messages).at(0)?.role === "user" ? null : "Conversation must start with a user message"),
  each((message) =>
    message.role === "assistant" && isEmpty(message) !== hasCalls(message)
      ? "Assistant message must have either content or tool_calls, but not both."
      : null,
  ),
);

/**
 * DeepSeek's API: successive messages (deepseek-ai/DeepSeek-R1#21), the last message (gptme/gptme#467), strings (BerriAI/litellm#6642);
 * results of tools (itmisx/deepx-code#94). ggml-org/llama.cpp, models/templates/deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja has strings, too.
 */
export const deepSeek: Check = all(
  only("system", "user", "assistant", "tool"),
  each(({ role }, index, messages) =>
    (role === "user" || role === "assistant") && messages[index - 1]?.role === role
      ? "deepseek-reasoner does not support successive user or assistant messages"
      : null,
  ),
  (messages) =>
    ["user", "tool"].includes(messages.at(-1)?.role ?? "") ? null : "The last message of deepseek-reasoner must be a user message",
  answered,
  each((message) =>
    typeof message.content === "string" || (message.content === null && hasCalls(message))
      ? null
      : "invalid type: sequence, expected a string",
  ),
);

/**
 * OpenAI: results (CopilotKit/CopilotKit#7277, miurla/morphic#136), null (docker/docker-agent#63, vercel/ai#13744), no calls
 * (openai/openai-node#1341), names (mcp-use/mcp-use#90, jekalmin/extended_openai_conversation#251).
 */
export const openAi: Check = all(
  answered,
  each((message, index) => {
    const at = `messages[${index}]`;
    if (message.content === null && !hasCalls(message)) return `${at}: Invalid value for 'content': expected a string, got null.`;
    if (message.tool_calls?.length === 0) return `${at}.tool_calls: empty array. Expected an array with minimum length 1`;
    if (message.name !== undefined && !NAME.test(message.name)) return `${at}.name: string does not match pattern`;
    if (callsOf(message).some((call) => !NAME.test(call.function.name)))
      return `${at}.tool_calls.function.name: string does not match pattern`;
    if (message.role !== "user" && partsOf(message).some(({ type }) => type !== "text")) return `${at}: only texts are supported`;
    return message.content !== null && partsOf(message).length === 0 ? `${at}.content: empty array` : null;
  }),
  (messages) => {
    const ids = messages.flatMap(callsOf).map(({ id }) => id);
    return new Set(ids).size === ids.length && !ids.includes("") ? null : "ids of calls must be unique";
  },
);

/** The same, where ids are measured: microsoft/autogen#6377, Portkey-AI/gateway#1062. Today's API takes longer ones (vercel/ai#17233). */
export const openAiWithShortIds: Check = all(
  openAi,
  each((message, index) =>
    callsOf(message).some(({ id }) => id.length > 40)
      ? `messages[${index}].tool_calls.id: string too long. Expected a string with maximum length 40`
      : null,
  ),
);

/**
 * Claude behind an OpenAI-compatible gateway: ids (BerriAI/litellm#23510, maximhq/bifrost#5097), texts (anomalyco/opencode#31259,
 * anthropics/claude-code#23440), one system message at the top.
 */
export const claude: Check = all(
  answered,
  (messages) =>
    (messages[0]?.role === "system" ? messages[1] : messages[0])?.role === "user" ? null : "messages: first message must use the user role",
  (messages) => (messages.at(-1)?.role === "assistant" ? "This model does not support assistant message prefill" : null),
  (messages) => {
    const ids = messages.flatMap(callsOf).map(({ id }) => id);
    if (ids.some((id) => !/^[a-zA-Z0-9_-]+$/.test(id))) return "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'";
    return new Set(ids).size === ids.length ? null : "`tool_use` ids must be unique";
  },
  each((message) =>
    partsOf(message).some(({ text }) => typeof text === "string" && isBlank(text))
      ? "text content blocks must contain non-whitespace text"
      : null,
  ),
);

/** Gemini's OpenAI-compatible API: google-gemini/gemini-cli#26486 and #3814; a turn of the model at the end: crewAIInc/crewAI#6973. */
export const gemini: Check = all(
  answered,
  each((message, index, messages) =>
    hasCalls(message) && !["user", "tool"].includes(messages[index - 1]?.role ?? "")
      ? "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
      : null,
  ),
  (messages) => (messages.at(-1)?.role === "assistant" ? "contents: the last turn is the model's" : null),
);
