import type { WireMessage } from "../../../models/wire/wire-message.ts";
import {
  all,
  alternating,
  besideTools,
  callsOf,
  type Check,
  each,
  hasCalls,
  isPicture,
  only,
  partsOf,
  stringsOnly,
  withoutSystem,
} from "./wire-checks.ts";

/** What must alternate in templates with tools. They ask whether `tool_calls` is defined, so an empty list counts as calls. */
const isSaid = ({ role, tool_calls }: WireMessage): boolean => role !== "tool" && tool_calls === undefined;

/** Gemma 1 and 2: ggml-org/llama.cpp, tests/test-chat-template.cpp, "google/gemma-7b-it". */
export const gemma: Check = all(
  ([first]) => (first?.role === "system" ? "System role not supported" : null),
  alternating,
  only("user", "assistant"),
  stringsOnly,
);

/** Gemma 3: google/gemma-3-4b-it, tokenizer_config.json, as quoted in ShishirPatil/gorilla#1116. It knows no tools. */
export const gemma3: Check = (messages) =>
  all(
    alternating,
    only("user", "assistant"),
    each(({ content }) => (content === null ? "Invalid content type" : null)),
  )(withoutSystem(messages));

/** Gemma 3 with tools: vllm-project/vllm, examples/tool_chat_template_gemma3_pythonic.jinja. */
export const gemma3WithTools: Check = (messages) =>
  all(
    (rest) => alternating(rest.filter(isSaid)),
    each(({ content }) => (content === null ? "Invalid content type" : null)),
    only("user", "assistant", "tool"),
  )(withoutSystem(messages));

/** Mistral 7B v0.2 (v1): ggml-org/llama.cpp, tests/test-chat-template.cpp, "mistralai 'v1' template with a system prompt". */
export const mistralV1: Check = all(stringsOnly, (messages) => all(alternating, only("user", "assistant"))(withoutSystem(messages)));

/** Mistral Large and Nemo 2407 (v3): ggml-org/llama.cpp, tests/test-chat-template.cpp, "Mistral-Nemo-Instruct-2407 (mistralai 'v3-tekken' template". */
export const mistralNemo: Check = (messages) =>
  all(
    () => stringsOnly(messages.filter(isSaid)),
    (rest) => alternating(rest.filter(isSaid)),
    only("user", "assistant", "tool"),
    each((message) =>
      [...callsOf(message).map(({ id }) => id), ...(message.role === "tool" ? [message.tool_call_id] : [])].every((id) => id?.length === 9)
        ? null
        : "Tool call IDs should be alphanumeric strings with length 9!",
    ),
  )(withoutSystem(messages));

/** Mistral Small 3.1 (v7): ggml-org/llama.cpp, models/templates/mistralai-Mistral-Small-3.1-24B-Instruct-2503.jinja. */
export const mistralSmall: Check = (messages) =>
  all(
    (rest) => alternating(besideTools(rest)),
    only("user", "assistant", "tool"),
    each((message) => {
      const ids = [...callsOf(message).map(({ id }) => id), ...(message.role === "tool" ? [message.tool_call_id ?? ""] : [])];
      if (ids.some((id) => id.length < 9)) return "Tool call IDs should be alphanumeric strings with length >= 9!";
      if (message.role === "user" && partsOf(message).some((part) => part.type !== "text" && !isPicture(part)))
        return "Only text and image blocks are supported in message content!";
      return message.role === "assistant" && !hasCalls(message) && message.content === null ? "content is None" : null;
    }),
  )(withoutSystem(messages));

/** Llama 3.1 to 3.3: vllm-project/vllm, examples/tool_chat_template_llama3.1_json.jinja, with tools; `tool_calls: []` fails (vllm-project/vllm#13978). */
export const llama: Check = (messages) =>
  all(
    ([first]) => (first?.role === "user" ? null : "Cannot put tools in the first user message when there's no first user message!"),
    only("user", "assistant", "tool"),
    each((message) => {
      if (message.tool_calls === undefined) return message.content === null ? "'NoneType' object is not iterable" : null;
      if (message.tool_calls.length === 0) return "No tool calls found.";
      return message.tool_calls.length > 1 ? "This model only supports single tool-calls at once!" : null;
    }),
  )(withoutSystem(messages));

/** ChatML in its simplest form: ggml-org/llama.cpp, tests/test-chat-template.cpp, "teknium/OpenHermes-2.5-Mistral-7B". */
export const chatMl: Check = stringsOnly;

/** Qwen 3.5 to 3.8: contrapuntal/chat-template-patches, templates/qwen3.5/upstream/27B.jinja; seen in SillyTavern/SillyTavern#5276. */
export const qwen: Check = all(
  (messages) => (messages.length === 0 ? "No messages provided." : null),
  only("system", "user", "assistant", "tool"),
  (messages) => (messages.some(({ role }) => role === "user") ? null : "No user query found in messages."),
  each((message, index) => {
    if (message.role !== "system") return null;
    if (index > 0) return "System message must be at the beginning.";
    return partsOf(message).some(isPicture) ? "System message cannot contain images." : null;
  }),
  each((message) => (partsOf(message).every((part) => isPicture(part) || "text" in part) ? null : "Unexpected item type in content.")),
);
