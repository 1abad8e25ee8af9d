import { llama, openai } from "./server-errors.ts";

const said = (message: string) => ({ error: { message } });

/** Bodies by which servers refuse a prompt, with the context and the tokens of the prompt that they name. */
export const REFUSALS: [server: string, body: { error: object }, limit: number | null, prompt: number | null][] = [
  [
    "OpenAI",
    openai(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens. Please reduce the length of the messages.",
      "context_length_exceeded",
    ),
    8_192,
    8_227,
  ],
  [
    "OpenAI, of a newer model",
    openai(
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please reduce the length of the messages.",
      "context_length_exceeded",
    ),
    272_000,
    509_178,
  ],
  [
    "OpenAI, without a number",
    openai("Your input exceeds the context window of this model. Please adjust your input and try again.", "context_length_exceeded"),
    null,
    null,
  ],
  [
    "OpenAI, of one minute",
    openai(
      "Request too large for gpt-4o in organization org-abcdefgh on tokens per min (TPM): Limit 30000, Requested 40129.",
      "rate_limit_exceeded",
      "tokens",
    ),
    30_000,
    40_129,
  ],
  [
    "vLLM, of prompt and answer",
    said(
      "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
    ),
    16_384,
    9_591,
  ],
  [
    "vLLM 0.16",
    said(
      "You passed 5025 input tokens and requested 1000 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3096 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=5025)",
    ),
    4_096,
    5_025,
  ],
  [
    "vLLM, of the answer",
    said(
      "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 3000 input tokens (2000 > 4096 - 3000).",
    ),
    4_096,
    3_000,
  ],
  [
    "vLLM's engine",
    said(
      "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.",
    ),
    4_096,
    5_000,
  ],
  ["SGLang", said("The input (5000 tokens) is longer than the model's context length (4096 tokens)."), 4_096, 5_000],
  [
    "llama.cpp",
    llama("request (4031 tokens) exceeds the available context size (2048 tokens), try increasing it", "exceed_context_size_error", 400, {
      n_prompt_tokens: 4031,
      n_ctx: 2048,
    }),
    2_048,
    4_031,
  ],
  [
    "llama.cpp, older",
    llama(
      "the request exceeds the available context size. try increasing the context size or enable context shift",
      "invalid_request_error",
      400,
    ),
    null,
    null,
  ],
  ["llama-cpp-python", said("Requested tokens (3000) exceed context window of 2048"), 2_048, 3_000],
  ["Ollama", said("prompt too long; exceeded max context length by 123 tokens"), null, null],
  ["Ollama, of an input", said("the input length exceeds the context length"), null, null],
  ["Anthropic", said("prompt is too long: 209303 tokens > 200000 maximum"), 200_000, 209_303],
  [
    "Anthropic, with the answer",
    said(
      "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
    ),
    200_000,
    190_000,
  ],
  [
    "Gemini, through LiteLLM",
    said(
      "litellm.BadRequestError: GeminiException - The input token count (2800010) exceeds the maximum number of tokens allowed (1048575).",
    ),
    1_048_575,
    2_800_010,
  ],
  [
    "Mistral",
    said("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
    32_768,
    40_000,
  ],
  [
    "TGI",
    said("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`"),
    4_096,
    5_000,
  ],
  [
    "OpenRouter",
    said(
      "This endpoint's maximum context length is 131,072 tokens. However, you requested about 200000 tokens (190000 of text input, 10000 in the output). Please reduce the length of either one.",
    ),
    131_072,
    190_000,
  ],
  [
    "LM Studio",
    said(
      "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
    ),
    4_096,
    null,
  ],
  ["Moonshot", said("Invalid request: Your request exceeded model token limit: 8192"), 8_192, null],
  ["DashScope", said("Range of input length should be [1, 30720]"), 30_720, null],
  ["Bedrock", said("Input is too long for requested model."), null, null],
  [
    "xAI",
    {
      code: "Client specified an invalid argument",
      error: "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    } as never,
    131_072,
    136_973,
  ],
  [
    "Cerebras",
    said("Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000"),
    40_000,
    42_328,
  ],
  ["Groq", openai("Please reduce the length of the messages or completion.", "context_length_exceeded"), null, null],
  ["Fireworks", said("The prompt is too long: 40177, model maximum context length: 32767"), 32_767, 40_177],
  ["MiniMax", said("invalid params, context window exceeds limit (2013)"), null, null],
  ["SiliconFlow", said("length of prompt_tokens (68957) must be less than max_seq_len (65536)."), 65_536, 68_957],
  ["SiliconFlow, with the answer", said("max_total_tokens (33802) must be less than or equal to max_seq_len (32768)"), 32_768, 33_802],
  ["GitHub Models", said("Request body too large for gpt-4o model. Max size: 8000 tokens."), 8_000, null],
  ["GitHub Copilot", said("prompt token count of 90000 exceeds the limit of 64000"), 64_000, 90_000],
  [
    "LM Studio",
    said(
      "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 10247 >= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter prompt.",
    ),
    4_096,
    10_247,
  ],
  ["LM Studio, as it cuts", said("Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"), 7_424, 15_028],
  ["LM Studio of 2023", said("Input length 6491 exceeds context length 1500"), 1_500, 6_491],
  [
    "Cohere",
    said(
      "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.",
    ),
    2_048,
    6_354,
  ],
  ["Gemini", said("The input token count (836248) exceeds the maximum number of tokens allowed (131072)."), 131_072, 836_248],
  ["Zhipu", { error: { code: "1261", message: "Prompt 超长" } }, null, null],
];
