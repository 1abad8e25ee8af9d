import { type Dialect, eventOf, type Read } from "./dialect.ts";
import {
  chunk,
  envelope,
  finished,
  finishWord,
  type Frame,
  type Frames,
  type Reply,
  speaking,
  USAGE,
  usageFrame,
  withChoices,
} from "./dialect-frames.ts";

/** The end of an answer that has nothing but words. */
const ends = (name: string, servers: string, word: string, reads: Partial<Read> = {}): Dialect => ({
  ...{ name, servers, speaks: ["words"], reads: () => reads },
  frames: speaking({ ending: () => [finished(word), usageFrame()] }),
});
/** Where the counts are. */
const counts = (name: string, servers: string, ending: (reply: Reply) => Frame[], reads: Partial<Read> = {}): Dialect => ({
  ...{ name, servers, reads: () => reads, frames: speaking({ ending }) },
});
const events = (frames: Frame[]): string[] => frames.map(eventOf);
const withoutEnd: Frames = speaking({ ending: () => [usageFrame()] });

/** How answers end, and where their tokens are counted. */
export const DIALECTS_OF_ENDS: readonly Dialect[] = [
  { name: "no finish, but [DONE]", servers: "Cloudflare, gateways that cut the last frame off", frames: withoutEnd },
  {
    name: "neither a finish nor [DONE]",
    servers: "any server that goes away",
    frames: withoutEnd,
    wire: events,
    reads: () => ({ calls: [], error: "model_incomplete" }),
  },
  { name: "a finish, but no [DONE]", servers: "Gemini, Vertex AI", frames: speaking(), wire: events },
  {
    name: "finish empty in each, and behind the last",
    servers: "Ollama before 0.1.39 (ollama/ollama#4357), SGLang (sgl-project/sglang#3912)",
    frames: (reply, cut) => [
      ...withChoices((choice) => ({ ...choice, finish_reason: choice["finish_reason"] ?? "" }))(reply, cut),
      chunk({ content: "" }, { finish_reason: "" }),
    ],
  },
  {
    name: "finish missing until the end",
    servers: "vLLM with streamed fields left out (vllm-project/vllm#19650)",
    frames: withChoices(({ finish_reason, ...choice }) => (finish_reason === null ? choice : { ...choice, finish_reason })),
  },
  {
    name: "finish in each frame",
    servers: "gateways that do not know the end",
    frames: withChoices((choice) => ({ ...choice, finish_reason: "stop" })),
  },
  {
    name: "finish in two frames",
    servers: "new-api, whose own frame comes last",
    frames: speaking({ ending: (reply) => [finished(finishWord(reply)), finished("stop", { content: "" }), usageFrame()] }),
  },
  {
    name: "finish length, then stop",
    servers: "gateways that always say stop at the end",
    speaks: ["words"],
    reads: () => ({ cut: "length" }),
    frames: speaking({ ending: () => [finished("length"), finished("stop"), usageFrame()] }),
  },
  {
    name: "finish in other words",
    servers: "TGI, gateways in front of Anthropic",
    frames: speaking({ ending: (reply) => [finished(reply.calls.length > 0 ? "tool_use" : "eos_token"), usageFrame()] }),
  },
  ends("finish in words nobody knows", "the server of tomorrow", "because_i_said_so"),
  ends("finish COMPLETE", "Cohere", "COMPLETE"),
  ends("finish end_turn", "gateways in front of Anthropic and Bedrock", "end_turn"),
  ends("finish length", "OpenAI", "length", { cut: "length" }),
  ends("finish MAX_TOKENS", "gateways in front of Gemini and Cohere", "MAX_TOKENS", { cut: "length" }),
  ends("finish model_length", "Mistral", "model_length", { cut: "length" }),
  ends("finish abort", "vLLM, SGLang, when they are stopped", "abort", { error: "model_interrupted" }),
  ends("finish network_error", "GLM", "network_error", { error: "model_interrupted" }),
  ends("finish insufficient_system_resource", "DeepSeek", "insufficient_system_resource", { error: "model_interrupted" }),
  ends("finish content_filter", "Azure", "content_filter", { error: "model_filtered" }),
  ends("finish SAFETY", "gateways in front of Gemini", "SAFETY", { error: "model_filtered" }),
  ends("finish sensitive", "GLM", "sensitive", { error: "model_filtered" }),
  {
    ...ends("calls that the bound cut", "every one of them, with a small max_tokens", "length", { calls: [], cut: "length" }),
    speaks: ["both"],
  },
  {
    name: "an error behind the first words",
    servers: "OpenRouter",
    speaks: ["words"],
    reads: () => ({ error: "model_bad_response", usage: null }),
    frames: speaking({
      ending: () => [
        { ...finished("error", { role: "assistant", content: "" }), error: { code: 502, message: "Provider returned error" } },
      ],
    }),
  },
  {
    name: "an event of an error",
    servers: "Anthropic's events behind gateways",
    speaks: ["words"],
    reads: () => ({ error: "model_unavailable", usage: null }),
    frames: speaking({ ending: () => [] }),
    wire: (frames) => [
      ...events(frames),
      `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n`,
    ],
  },
  {
    name: "usage in each frame",
    servers: "xAI, Perplexity",
    frames: (reply, cut) =>
      [...speaking()(reply, cut)].map((frame, at, { length }) => ({
        ...frame,
        usage: at === length - 1 ? USAGE : { ...USAGE, completion_tokens: 0, total_tokens: 100 },
      })),
  },
  {
    name: "usage null in each frame",
    servers: "OpenAI with include_usage, vLLM",
    frames: (reply, cut) => [...speaking()(reply, cut)].map((frame) => ({ usage: null, ...frame })),
  },
  counts("usage beside the finish", "DeepSeek, Mistral", (reply) => [{ ...finished(finishWord(reply)), usage: USAGE }]),
  counts("usage in the choice", "Moonshot", (reply) => [chunk({}, { finish_reason: finishWord(reply), usage: USAGE })]),
  counts("usage in x_groq", "Groq", (reply) => [
    { ...finished(finishWord(reply)), x_groq: { id: "req_1", usage: { ...USAGE, queue_time: 0.01 } } },
  ]),
  counts("usage behind null choices", "gateways in Go, whose lists are null", (reply) => [
    finished(finishWord(reply)),
    envelope(null, { usage: USAGE }),
  ]),
  counts("usage in other names", "gateways in front of Anthropic", (reply) => [
    finished(finishWord(reply)),
    usageFrame({ input_tokens: 100, output_tokens: 7 }),
  ]),
  counts("no usage", "servers that know no stream_options", (reply) => [finished(finishWord(reply))], { usage: null }),
];
