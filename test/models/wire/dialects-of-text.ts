import type { Dialect } from "./dialect.ts";
import {
  chunk,
  envelope,
  finished,
  finishWord,
  inPieces,
  saying,
  speaking,
  usageFrame,
  wholeMessage,
  withChoices,
  withDeltas,
  without,
} from "./dialect-frames.ts";

/** Roles, contents and envelopes. */
export const DIALECTS_OF_TEXT: readonly Dialect[] = [
  { name: "plain", servers: "OpenAI", frames: speaking() },
  {
    name: "role empty in each",
    servers: "gateways written in Go, whose strings are never null",
    frames: withDeltas((delta) => ({ ...delta, role: "" })),
  },
  { name: "role null in each", servers: "SGLang", frames: withDeltas((delta) => ({ ...delta, role: null })) },
  { name: "role missing", servers: "small servers of one file", frames: withDeltas((delta) => without(delta, "role")) },
  { name: "role in each", servers: "Ollama, LM Studio, Mistral", frames: withDeltas((delta) => ({ role: "assistant", ...delta })) },
  {
    name: "content empty in each",
    servers: "Ollama, DashScope",
    frames: withDeltas((delta) => ({ content: "", ...delta, ...(delta["content"] ? {} : { content: "" }) })),
  },
  {
    name: "lists null in each",
    servers: "LiteLLM, Pydantic models that dump all fields",
    frames: withDeltas((delta) => ({
      tool_calls: null,
      function_call: null,
      refusal: null,
      reasoning_content: null,
      audio: null,
      ...delta,
    })),
  },
  {
    name: "content in parts",
    servers: "Mistral, whose Magistral thinks in parts",
    thinks: true,
    frames: speaking({
      thoughts: (thoughts, cut) => cut(thoughts).map((text) => saying([{ type: "thinking", thinking: [{ type: "text", text }] }])),
      words: (text, cut) => [
        ...cut(text.slice(0, 9)).map((piece) => saying([{ type: "text", text: piece }])),
        saying([{ type: "reference", reference_ids: [1] }]),
        ...cut(text.slice(9)).map(saying),
      ],
    }),
  },
  {
    name: "refusal",
    servers: "OpenAI",
    speaks: ["words"],
    frames: speaking({ words: (text, cut) => cut(text).map((refusal) => chunk({ refusal })) }),
  },
  {
    name: "media beside the content",
    servers: "OpenRouter, Perplexity, GPT-4o-audio",
    frames: withDeltas((delta) => ({
      ...delta,
      audio: { id: "audio_1", data: "AAAA", transcript: "never shown" },
      images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
      annotations: [{ type: "url_citation", url_citation: { url: "https://example.org", title: "never shown" } }],
    })),
  },
  {
    name: "logprobs",
    servers: "OpenAI, vLLM",
    frames: withChoices((choice) => ({
      ...choice,
      logprobs: { content: [{ token: "x", logprob: -0.1, bytes: [120], top_logprobs: [] }], refusal: null },
    })),
  },
  {
    name: "other choices",
    servers: "proxies that ask for two answers",
    frames: (reply, cut) =>
      [...speaking()(reply, cut)].flatMap((frame, at) => {
        const [choice] = frame["choices"] as object[];
        const other = { index: 1, delta: { content: "another " }, finish_reason: null };
        if (!choice) return [frame];
        return at % 2 === 0 ? [{ ...frame, choices: [other, choice] }] : [{ ...frame, choices: [other] }, frame];
      }),
  },
  { name: "choices without an index", servers: "llamafile, small servers", frames: withChoices((choice) => without(choice, "index")) },
  { name: "index as text", servers: "servers in dynamic languages", frames: withChoices((choice) => ({ ...choice, index: "0" })) },
  {
    name: "odd envelope",
    servers: "gateways over models that are not OpenAI's",
    frames: (reply, cut) =>
      [...speaking()(reply, cut)].map(({ choices, usage }) => ({
        created: "2026-11-28T00:00:00Z",
        id: null,
        choices,
        usage,
        provider: { name: "x" },
        error: null,
      })),
  },
  {
    name: "nothing but choices",
    servers: "small servers of one file",
    reads: () => ({ usage: null }),
    frames: (reply, cut) => [...speaking()(reply, cut)].filter(({ usage }) => !usage).map(({ choices }) => ({ choices })),
  },
  {
    name: "a first frame without choices",
    servers: "Azure, which tells first what its filter thinks of the prompt",
    frames: (reply, cut) => [
      {
        id: "",
        object: "",
        created: 0,
        model: "",
        choices: [],
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: "safe" } } }],
      },
      ...withChoices((choice) => ({ ...choice, content_filter_results: {}, content_filter_offsets: { check_offset: 1 } }))(reply, cut),
    ],
  },
  {
    name: "delta null at the end",
    servers: "gateways over Bedrock",
    frames: speaking({ ending: (reply) => [chunk(null, { finish_reason: finishWord(reply) }), usageFrame()] }),
  },
  {
    name: "the finish beside the last piece",
    servers: "Mistral, Cohere, Gemini",
    speaks: ["words"],
    frames: (reply, cut) => {
      const [last = "", ...before] = cut(reply.text).reverse();
      return [
        chunk({ role: "assistant" }),
        ...before.reverse().map(saying),
        { ...finished("stop", { content: last }), usage: usageFrame()["usage"] },
      ];
    },
  },
  {
    name: "message for delta",
    servers: "gateways that take whole answers apart",
    frames: withChoices(({ delta, ...choice }) => ({ ...choice, message: delta })),
  },
  {
    name: "the whole message again at the end",
    servers: "MiniMax",
    frames: speaking({
      ending: (reply) => [
        envelope([{ index: 0, finish_reason: finishWord(reply), message: wholeMessage(reply) }], {
          object: "chat.completion",
          usage: usageFrame()["usage"],
        }),
      ],
    }),
  },
  {
    name: "the message so far beside each delta",
    servers: "Perplexity",
    speaks: ["words"],
    frames: (reply, cut) => {
      let content = "";
      return withChoices((choice) => {
        content += (choice.delta?.["content"] as string | undefined) ?? "";
        return { ...choice, message: { role: "assistant", content } };
      })(reply, cut);
    },
  },
  {
    name: "one frame with everything",
    servers: "servers that do not stream behind gateways that do",
    frames: (reply) => [envelope([{ index: 0, delta: wholeMessage(reply), finish_reason: finishWord(reply) }]), usageFrame()],
  },
  {
    name: "one frame for each character",
    servers: "servers of models of bytes",
    speaks: ["words"],
    frames: (reply) => speaking({ words: (text) => [...text].map(saying) })(reply, inPieces),
  },
];
