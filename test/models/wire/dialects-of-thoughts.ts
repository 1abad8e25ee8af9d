import type { Dialect } from "./dialect.ts";
import { chunk, type Cut, finished, type Frame, type Frames, inline, saying, speaking, usageFrame, withDeltas } from "./dialect-frames.ts";

const thinking = (delta: (thought: string) => Frame): Frames =>
  speaking({
    opening: () => [chunk({ role: "assistant", content: null, ...delta("") })],
    thoughts: (thoughts: string, cut: Cut) => cut(thoughts).map((thought) => chunk(delta(thought))),
  });

const tagged = (name: string, servers: string, opening: string, closing: string, write?: (thoughts: string) => string): Dialect => ({
  ...{ name, servers, thinks: true, tags: [opening, closing] },
  frames: inline(write ?? ((thoughts) => `${opening}${thoughts}${closing}`)),
});

const HARMONY_END = "<|end|><|start|>assistant<|channel|>final<|message|>";

/** Thoughts beside the content, and in it. */
export const DIALECTS_OF_THOUGHTS: readonly Dialect[] = [
  {
    name: "reasoning_content",
    servers: "DeepSeek, GLM, Kimi, DashScope, llama.cpp, SGLang",
    thinks: true,
    frames: thinking((reasoning_content) => ({ reasoning_content })),
  },
  {
    name: "reasoning_content beside an empty content",
    servers: "DashScope, xAI",
    thinks: true,
    frames: thinking((reasoning_content) => ({ reasoning_content, content: "" })),
  },
  {
    name: "reasoning_content null beside the words",
    servers: "DeepSeek",
    thinks: true,
    frames: withDeltas(
      (delta) => ({ reasoning_content: null, ...delta }),
      thinking((reasoning_content) => ({ reasoning_content, content: null })),
    ),
  },
  { name: "reasoning", servers: "Groq, Ollama, Cerebras, vLLM since 0.11", thinks: true, frames: thinking((reasoning) => ({ reasoning })) },
  {
    name: "both names",
    servers: "vLLM on its way from one name to the other",
    thinks: true,
    frames: thinking((thought) => ({ reasoning: thought, reasoning_content: thought })),
  },
  {
    name: "one name, the other null",
    servers: "gateways in front of vLLM",
    thinks: true,
    frames: thinking((reasoning) => ({ reasoning_content: null, reasoning })),
  },
  {
    name: "reasoning_details alone",
    servers: "MiniMax with reasoning_split",
    thinks: true,
    frames: thinking((text) => ({
      reasoning_details:
        text === "" ? [] : [{ type: "reasoning.text", id: "reasoning-text-1", format: "MiniMax-response-v1", index: 0, text }],
    })),
  },
  {
    name: "reasoning and reasoning_details",
    servers: "OpenRouter",
    thinks: true,
    frames: thinking((text) => ({ reasoning: text, reasoning_details: [{ type: "reasoning.text", text, format: "unknown", index: 0 }] })),
  },
  {
    name: "a summary in reasoning_details",
    servers: "OpenRouter in front of OpenAI",
    thinks: true,
    frames: thinking((summary) => ({
      reasoning_details: [{ type: "reasoning.summary", summary, format: "openai-responses-v1", index: 0 }],
    })),
  },
  {
    name: "encrypted thoughts",
    servers: "OpenRouter in front of OpenAI and Gemini",
    frames: thinking((text) => ({ reasoning_details: [{ type: "reasoning.encrypted", data: `c2VhbGVk${text.length}`, index: 0 }] })),
  },
  {
    name: "thinking_blocks beside reasoning_content",
    servers: "LiteLLM in front of Anthropic",
    thinks: true,
    frames: thinking((thinking) => ({ reasoning_content: thinking, thinking_blocks: [{ type: "thinking", thinking, signature: null }] })),
  },
  {
    name: "thoughts between the words and the calls",
    servers: "Kimi K2 Thinking, MiniMax M2, which think between their steps",
    thinks: true,
    speaks: ["both"],
    frames: (reply, cut) => [
      ...cut(reply.text).map(saying),
      ...speaking({ thoughts: (thoughts) => cut(thoughts).map((reasoning_content) => chunk({ reasoning_content })) })(
        { ...reply, text: "" },
        cut,
      ),
    ],
  },
  {
    name: "thoughts that the bound cut",
    servers: "every one of them, with a small max_tokens",
    thinks: true,
    speaks: ["words"],
    reads: () => ({ text: "", cut: "length", error: "model_out_of_tokens" }),
    frames: (reply, cut) => [
      ...cut(reply.thoughts).map((reasoning_content) => chunk({ reasoning_content })),
      finished("length"),
      usageFrame(),
    ],
  },
  tagged("<think>", "DeepSeek R1 and Qwen behind Ollama, Together, TGI and vLLM without a parser", "<think>", "</think>"),
  tagged("<think> on lines of its own", "QwQ, DeepSeek R1", "<think>", "</think>", (thoughts) => `<think>\n${thoughts}\n</think>\n\n`),
  tagged(
    "<think> behind a line break",
    "templates that end with one",
    "<think>",
    "</think>",
    (thoughts) => `\n<think>\n${thoughts}\n</think>\n\n`,
  ),
  tagged("<thought>", "Gemini with include_thoughts", "<thought>", "</thought>"),
  tagged("<thinking>", "Amazon Nova, prompts for Claude", "<thinking>", "</thinking>", (thoughts) => `<thinking> ${thoughts}</thinking>\n`),
  tagged("<reasoning>", "Reka, models taught by prompts", "<reasoning>", "</reasoning>"),
  tagged("[THINK]", "Magistral's weights behind vLLM and llama.cpp", "[THINK]", "[/THINK]"),
  tagged("◁think▷", "Kimi-VL Thinking", "◁think▷", "◁/think▷"),
  tagged("<|channel|>", "gpt-oss without a parser", "<|channel|>analysis<|message|>", HARMONY_END),
  tagged(
    "<|channel|> behind <|start|>",
    "gpt-oss, of whose template the last words are told again",
    "<|start|>assistant<|channel|>analysis<|message|>",
    HARMONY_END,
  ),
  tagged(
    "a closing tag alone",
    "Qwen3 Thinking and DeepSeek R1 whose template opens the thought",
    "",
    "</think>",
    (thoughts) => `${thoughts}\n</think>\n\n`,
  ),
  {
    ...tagged("nothing between the tags", "Qwen3 with enable_thinking false", "<think>", "</think>", () => "<think>\n\n</think>\n\n"),
    reads: () => ({ thoughts: "" }),
  },
  {
    name: "a thought that never closes",
    servers: "every one with tags, with a small max_tokens",
    thinks: true,
    tags: ["<think>", "</think>"],
    speaks: ["words"],
    reads: () => ({ text: "", cut: "length", error: "model_out_of_tokens" }),
    frames: (reply, cut) => [...cut(`<think>${reply.thoughts}`).map(saying), finished("length"), usageFrame()],
  },
];
