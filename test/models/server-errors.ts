export const openai = (message: string, code: string | null, type = "invalid_request_error") => ({
  error: { message, type, param: null, code },
});
const vllm = (message: string, type: string, code: number) => ({ error: { message, type, param: null, code } });
const olderVllm = (message: string, type: string, code: number) => ({ object: "error", message, type, param: null, code });
export const llama = (message: string, type: string, code: number, rest = {}) => ({ error: { code, message, type, ...rest } });
const ollama = (message: string) => ({ error: { message, type: "api_error", param: null, code: null } });
const litellm = (message: string, code: string, type: string | null = null) => ({ error: { message, type, param: null, code } });

/**
 * Bodies as these servers send them: seen at a running llama.cpp, else as users report them to the servers' and their clients' projects.
 */
export const BODIES: [said: string, status: number, body: object, code: string][] = [
  [
    "OpenAI: a prompt that is too long",
    400,
    openai(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens. Please reduce the length of the messages.",
      "context_length_exceeded",
    ),
    "context_too_long",
  ],
  [
    "OpenAI: more than a newer model takes",
    400,
    openai(
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens.",
      "context_length_exceeded",
    ),
    "context_too_long",
  ],
  [
    "OpenAI: a request above the limit of a minute",
    429,
    openai(
      "Request too large for gpt-4o in organization org-abcdefgh on tokens per min (TPM): Limit 30000, Requested 40129. The input or output tokens must be reduced in order to run successfully.",
      "rate_limit_exceeded",
      "tokens",
    ),
    "context_too_long",
  ],
  [
    "OpenAI: too many requests",
    429,
    openai(
      "Rate limit reached for gpt-4o-mini on requests per min (RPM): Limit 3, Used 3, Requested 1.",
      "rate_limit_exceeded",
      "requests",
    ),
    "model_rate_limited",
  ],
  [
    "OpenAI: no credit",
    429,
    openai(
      "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
      "insufficient_quota",
      "insufficient_quota",
    ),
    "model_quota",
  ],
  [
    "OpenAI: a wrong key",
    401,
    openai(
      "Incorrect API key provided: sk-abcde***************fghi. You can find your API key at https://platform.openai.com/account/api-keys.",
      "invalid_api_key",
    ),
    "model_unauthorized",
  ],
  [
    "OpenAI: an unknown model",
    404,
    openai("The model `gpt-9` does not exist or you do not have access to it.", "model_not_found"),
    "model_not_found",
  ],
  [
    "OpenAI: a model that the project may not use",
    403,
    openai("Project `proj_abcdefgh` does not have access to model `gpt-4o`", "model_not_found"),
    "model_not_found",
  ],
  [
    "OpenAI: a parameter that the model does not take",
    400,
    openai(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      "unsupported_parameter",
    ),
    "model_refused",
  ],
  [
    "OpenAI: a country",
    403,
    openai("Country, region, or territory not supported", "unsupported_country_region_territory", "request_forbidden"),
    "model_refused",
  ],
  ["OpenAI: overloaded", 503, openai("The server is currently overloaded.", null, "server_error"), "model_unavailable"],
  [
    "vLLM: a prompt that is too long",
    400,
    olderVllm(
      "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
      "BadRequestError",
      400,
    ),
    "context_too_long",
  ],
  [
    "vLLM 0.16: a prompt with an answer that are too long together",
    400,
    vllm(
      "You passed 25 input tokens and requested 1000 output tokens. However, the model's context length is only 1024 tokens, resulting in a maximum input length of 24 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=25)",
      "BadRequestError",
      400,
    ),
    "context_too_long",
  ],
  ["vLLM: an unknown model", 404, vllm("The model `llama` does not exist.", "NotFoundError", 404), "model_not_found"],
  ["vLLM: a wrong key", 401, { error: "Unauthorized" }, "model_unauthorized"],
  [
    "llama.cpp: a prompt that is too long",
    400,
    llama("request (4031 tokens) exceeds the available context size (2048 tokens), try increasing it", "exceed_context_size_error", 400, {
      n_prompt_tokens: 4031,
      n_ctx: 2048,
    }),
    "context_too_long",
  ],
  ["llama.cpp: a model that is being loaded", 503, llama("Loading model", "unavailable_error", 503), "model_unavailable"],
  ["llama.cpp: a wrong key", 401, llama("Invalid API Key", "authentication_error", 401), "model_unauthorized"],
  ["llama.cpp: a wrong address", 404, llama("File Not Found", "not_found_error", 404), "model_refused"],
  [
    "llama.cpp: a request that it cannot read",
    400,
    llama("Expected 'content' to be a string or an array", "invalid_request_error", 400),
    "model_refused",
  ],
  ["Ollama: a model that is not there", 404, ollama('model "llama9" not found, try pulling it first'), "model_not_found"],
  ["Ollama: the same of a newer version", 404, { error: "model 'llama9' not found" }, "model_not_found"],
  [
    "Ollama: too little memory",
    500,
    ollama("model requires more system memory (5.6 GiB) than is available (3.9 GiB)"),
    "model_unavailable",
  ],
  [
    "LiteLLM: a prompt that is too long for Anthropic",
    400,
    litellm(
      'litellm.BadRequestError: litellm.ContextWindowExceededError: AnthropicError - {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209303 tokens > 200000 maximum"}}\nReceived Model Group=anthropic/claude\nAvailable Model Group Fallbacks=None',
      "400",
    ),
    "context_too_long",
  ],
  [
    "LiteLLM: a prompt that is too long for Gemini",
    400,
    litellm(
      "litellm.BadRequestError: GeminiException - The input token count (2800010) exceeds the maximum number of tokens allowed (1048575).",
      "400",
    ),
    "context_too_long",
  ],
  [
    "LiteLLM: a budget",
    400,
    litellm("Budget has been exceeded! Current cost: 26.075, Max budget: 0.25", "400", "budget_exceeded"),
    "model_quota",
  ],
  [
    "LiteLLM: the budget of an end user",
    400,
    litellm("ExceededBudget: End User=ishaan3 over budget. Spend=0.000887, Budget=0.0001", "400", "auth_error"),
    "model_quota",
  ],
  [
    "LiteLLM: a wrong key",
    401,
    litellm(
      "Authentication Error, Invalid proxy server token passed. Received API Key = sk-...1234, Key Hash (Token) =88dc28d0f030c55ed4ab77ed8faf098196cb1c05df778539800c9f1243fe6b4b. Unable to find token in cache or `LiteLLM_VerificationTokenTable`",
      "401",
      "auth_error",
    ),
    "model_unauthorized",
  ],
  [
    "LiteLLM: an unknown model",
    400,
    litellm("/chat/completions: Invalid model name passed in model=gpt-9. Call `/v1/models` to view available models for your key.", "400"),
    "model_not_found",
  ],
  [
    "LiteLLM: a model that the key may not use",
    401,
    litellm("key not allowed to access model. This key can only access models=['a']. Tried to access b", "401", "key_model_access_denied"),
    "model_not_found",
  ],
  [
    "LiteLLM: no deployment left",
    429,
    litellm("litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached for gpt-4o", "429", "throttling_error"),
    "model_rate_limited",
  ],
];

/** In the middle of a stream there is no status. */
export const FRAMES: [said: string, body: object, code: string][] = [
  ["llama.cpp: a full context", llama("Context size has been exceeded.", "server_error", 500), "context_too_long"],
  [
    "vLLM: a prompt that is too long",
    vllm("This model's maximum context length is 4096 tokens.", "BadRequestError", 400),
    "context_too_long",
  ],
  ["OpenAI: too many tokens", openai("Rate limit reached for gpt-4o", "rate_limit_exceeded", "tokens"), "model_rate_limited"],
  ["OpenRouter: a provider's limit", { error: { code: 429, message: "Provider returned error" } }, "model_rate_limited"],
  ["any other error", llama("Something broke", "server_error", 500), "model_bad_response"],
];
