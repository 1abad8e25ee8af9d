import type { Dialect } from "./dialect.ts";
import {
  argumentsOf,
  calling,
  chunk,
  finished,
  type Frame,
  idOf,
  openAiPieces,
  type Piece,
  speaking,
  usageFrame,
  type WantedCall,
  wholePiece,
  withPieces,
  without,
} from "./dialect-frames.ts";

type Speaker = Pick<Dialect, "name" | "servers"> & Partial<Dialect>;

/** Calls alone, and behind words. */
const calls = (dialect: Speaker, frames: Dialect["frames"]): Dialect => ({ speaks: ["calls", "both"], ...dialect, frames });
/** Each call in one piece. */
const whole = (dialect: Speaker, change: (piece: Piece, call: WantedCall) => Piece): Dialect =>
  calls(dialect, speaking({ pieces: (call, index) => [change(wholePiece(call, index), call)] }));

const named = (call: WantedCall, given: unknown) => ({ name: call.name, arguments: given });
const SAME_ID = "functions.call:0";

/** How the calls of an answer are told apart. */
export const DIALECTS_OF_CALLS: readonly Dialect[] = [
  whole({ name: "calls whole", servers: "Groq, Fireworks" }, (piece) => piece),
  whole({ name: "calls whole, all of index 0", servers: "Gemini, Ollama before 0.6" }, (piece) => ({ ...piece, index: 0 })),
  whole({ name: "calls whole, all of index 0, without ids", servers: "Gemini at first" }, (piece) => ({ ...piece, index: 0, id: "" })),
  whole({ name: "calls whole, without an index", servers: "Mistral at first, GPT4All, Ollama's own clients" }, (piece) =>
    without(piece, "index"),
  ),
  whole({ name: "calls whole, without an index or ids", servers: "Ollama's own protocol behind proxies" }, (piece) =>
    without(piece, "index", "id"),
  ),
  whole({ name: "calls whole, all of one id", servers: "Kimi K2 behind vLLM, which numbers calls anew" }, (piece) => ({
    ...piece,
    id: SAME_ID,
  })),
  whole({ name: "calls whole, of one id and index", servers: "proxies that number nothing" }, (piece) => ({
    ...piece,
    index: 0,
    id: SAME_ID,
  })),
  whole(
    { name: "arguments as an object", servers: "TGI (huggingface/text-generation-inference#2136), proxies of Ollama's protocol" },
    (piece, call) => {
      return { ...piece, function: named(call, call.arguments) };
    },
  ),
  whole({ name: "a field of the server's own", servers: "Gemini, which signs its thoughts" }, (piece) => ({
    ...piece,
    extra_content: { google: { thought_signature: "c2lnbmVk" } },
  })),
  whole({ name: "no type", servers: "Mistral" }, (piece) => without(piece, "type")),
  calls(
    { name: "one index for all", servers: "vLLM and LMDeploy (InternLM/lmdeploy#3412)" },
    speaking({
      pieces: (call, at, cut) =>
        openAiPieces(call, at, cut).map((piece, part) => ({ ...piece, index: 0, ...(part > 0 ? { id: "" } : {}) })),
    }),
  ),
  calls(
    { name: "one index for all, ids in each piece", servers: "SGLang (InternLM/lmdeploy#3412)" },
    speaking({ pieces: (call, at, cut) => openAiPieces(call, at, cut).map((piece) => ({ ...piece, index: 0, id: String(at) })) }),
  ),
  calls(
    { name: "indexes from 1", servers: "LiteLLM in front of the Responses API (pipecat-ai/pipecat#4987), gateways in front of Claude" },
    withPieces((piece) => ({ ...piece, index: Number(piece["index"]) + 1 })),
  ),
  calls(
    { name: "indexes with gaps", servers: "gateways that count the blocks of Anthropic" },
    withPieces((piece) => ({ ...piece, index: 3 * Number(piece["index"]) + 2 })),
  ),
  calls(
    { name: "indexes as texts", servers: "servers in dynamic languages" },
    withPieces((piece) => ({ ...piece, index: String(piece["index"]) })),
  ),
  calls(
    { name: "no index", servers: "SGLang (vercel/ai#5885)" },
    withPieces((piece) => without(piece, "index")),
  ),
  calls(
    { name: "index null", servers: "Pydantic models that dump all fields" },
    withPieces((piece) => ({ ...piece, index: null })),
  ),
  calls(
    { name: "all of one id", servers: "Kimi K2 behind vLLM" },
    withPieces((piece) => ("id" in piece ? { ...piece, id: SAME_ID } : piece)),
  ),
  calls(
    { name: "no ids", servers: "small servers of one file" },
    withPieces((piece) => without(piece, "id")),
  ),
  calls(
    { name: "the name in each piece", servers: "llama-cpp-python, Zhipu" },
    speaking({
      pieces: (call, index, cut) =>
        cut(argumentsOf(call)).map((given) => ({ index, id: idOf(index), type: "function", function: named(call, given) })),
    }),
  ),
  calls(
    { name: "empty ids and names behind the first piece", servers: "DashScope, DeepSeek, GLM behind SiliconFlow" },
    speaking({
      pieces: (call, at, cut) =>
        openAiPieces(call, at, cut).map((piece, part) =>
          part === 0 ? piece : { ...piece, id: "", type: "function", function: { name: "", ...(piece["function"] as Piece) } },
        ),
    }),
  ),
  calls(
    { name: "ids and names null behind the first piece", servers: "vLLM, SGLang" },
    speaking({
      pieces: (call, at, cut) =>
        openAiPieces(call, at, cut).map((piece, part) =>
          part === 0 ? piece : { ...piece, id: null, type: null, function: { name: null, ...(piece["function"] as Piece) } },
        ),
    }),
  ),
  calls(
    { name: "another id in each piece", servers: "gateways that make ids up (LangChain's proxies)" },
    speaking({ pieces: (call, at, cut) => openAiPieces(call, at, cut).map((piece, part) => ({ ...piece, id: `${idOf(at)}_${part}` })) }),
  ),
  calls(
    { name: "another id in each piece, and no index", servers: "gateways that make ids up" },
    speaking({
      pieces: (call, at, cut) =>
        openAiPieces(call, at, cut).map((piece, part) => ({ ...without(piece, "index"), id: `${idOf(at)}_${part}` })),
    }),
  ),
  calls(
    { name: "everything in each piece, and once more", servers: "gateways that repeat what they know" },
    speaking({
      pieces: (call, index, cut) =>
        ["", ...cut(argumentsOf(call)), ""].map((given) => ({ index, id: idOf(index), type: "function", function: named(call, given) })),
    }),
  ),
  calls(
    { name: "the name in pieces", servers: "servers that stream tokens as they come (openai/openai-agents-python#326)" },
    speaking({
      pieces: (call, index, cut) => [
        { index, id: idOf(index), type: "function", function: { name: call.name.slice(0, 2), arguments: "" } },
        { index, function: { name: call.name.slice(2) } },
        ...cut(argumentsOf(call)).map((given) => ({ index, function: { arguments: given } })),
      ],
    }),
  ),
  calls(
    { name: "an empty name first", servers: "Command A behind vLLM (vercel/ai#16507), vMLX" },
    speaking({
      pieces: (call, index) => [
        { index, id: idOf(index), type: "function", function: { name: "", arguments: "" } },
        { index, id: idOf(index), type: "function", function: named(call, argumentsOf(call)) },
      ],
    }),
  ),
  calls(
    {
      name: "the name behind the first arguments",
      servers: "DeepSeek V4 and Kimi K2.7 behind gateways (vercel/ai#14722)",
    },
    speaking({
      pieces: (call, index) => {
        const [first, ...rest] = argumentsOf(call);
        return [
          { index, id: idOf(index), type: "function", function: { arguments: first } },
          { index, function: { name: call.name, arguments: rest.join("") } },
        ];
      },
    }),
  ),
  calls(
    { name: "pieces of calls in turn", servers: "servers that run calls side by side" },
    speaking({
      calls: (asked, cut) => {
        const pieces = asked.map((call, index) => openAiPieces(call, index, cut));
        const longest = Math.max(0, ...pieces.map(({ length }) => length));
        return Array.from({ length: longest }, (_, part) => calling(...pieces.flatMap((of) => of.slice(part, part + 1))));
      },
    }),
  ),
  calls(
    { name: "all calls in one frame", servers: "Ollama, gateways in front of Gemini" },
    speaking({ calls: (asked) => [calling(...asked.map(wholePiece))] }),
  ),
  calls(
    { name: "all calls in the last frame", servers: "Mistral" },
    speaking({
      calls: () => [],
      ending: ({ calls: asked }) => [finished("tool_calls", { content: "", tool_calls: asked.map(wholePiece) }), usageFrame()],
    }),
  ),
  calls(
    {
      name: "tool_calls as an object",
      servers: "TGI before 3.2 (huggingface/text-generation-inference#2794)",
    },
    speaking({
      pieces: openAiPieces,
      calls: (asked, cut) => asked.flatMap((call, index) => openAiPieces(call, index, cut).map((piece) => chunk({ tool_calls: piece }))),
    }),
  ),
  calls(
    { name: "empty arguments behind the call", servers: "DashScope behind new-api (QuantumNous/new-api#3326)" },
    speaking({
      pieces: (call, index, cut) => [
        ...openAiPieces(call, index, cut),
        { index, id: "", function: { name: "", arguments: null } },
        { index, function: { arguments: "" } },
      ],
    }),
  ),
  {
    ...{ name: "a call without arguments", servers: "OpenRouter, vLLM (QwenLM/qwen-code#6249)", speaks: ["calls"] },
    reads: ({ calls: asked }) => ({ calls: asked.map(({ name }) => ({ name, arguments: {} })) }),
    frames: speaking({ pieces: (call, index) => [{ index, id: idOf(index), type: "function", function: named(call, "") }] }),
  },
  {
    ...{ name: "function_call", servers: "OpenAI's protocol before November 2023, Xinference, FastChat", speaks: ["calls", "both"] },
    reads: ({ calls: asked }) => ({ calls: asked.slice(0, 1) }),
    frames: speaking({
      calls: ([call], cut): Frame[] =>
        call
          ? [
              chunk({ function_call: { name: call.name, arguments: "" } }),
              ...cut(argumentsOf(call)).map((given) => chunk({ function_call: { arguments: given } })),
            ]
          : [],
      ending: () => [finished("function_call"), usageFrame()],
    }),
  },
  calls(
    { name: "finish stop beside calls", servers: "Gemini, Ollama, gateways" },
    speaking({ ending: () => [finished("stop"), usageFrame()] }),
  ),
];
