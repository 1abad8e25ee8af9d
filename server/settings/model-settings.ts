import { z } from "zod";
import { headerName, httpUrl, jsonHeaders, jsonObject, wholeNumber } from "./setting-types.ts";

export const chatModel = {
  OPENAI_API_KEY: z
    .string()
    .optional()
    .describe("The key of the model's server. Unset, without OPENAI_BASE_URL: a built-in offline model answers."),
  OPENAI_BASE_URL: httpUrl.optional().describe("Any server that speaks OpenAI's protocol, with its `/v1`. Unset: OpenAI itself."),
  MODEL_KEY_HEADER: headerName
    .optional()
    .describe(
      "The header in which that server looks for its key, such as `api-key`. Unset: `Authorization`, and `api-key` for Azure's addresses.",
    ),
  MODEL_HEADERS: jsonHeaders
    .optional()
    .describe('Headers that every request to that server has, as a JSON object: `{"X-Team": "red"}`. Unset: none.'),
  MODEL_EXTRA_BODY: jsonObject
    .optional()
    .describe(
      'Fields that every request to its chat models has, as a JSON object: `{"chat_template_kwargs": {"enable_thinking": false}}`. Unset: none.',
    ),
  CHAT_MODEL: z.string().default("gpt-4o-mini").describe("The model that answers."),
  MODELS: z
    .string()
    .optional()
    .describe(
      "A JSON file with models that callers and agents may choose, by name: each may have `model` (what its server calls it), `api` (`openai` or `anthropic`), `base_url`, `api_key`, `key_header`, `headers`, `extra_body`, `internal` (true: callers and agents cannot choose it), and `fallback`, names of those that answer while its server is away. CHAT_MODEL, SUMMARY_MODEL, ROUTER_MODEL, TITLE_MODEL and MEMORY_MODEL may name one, too. See docs/operations.md. Unset: none.",
    ),
  MODEL_PROFILES: z
    .string()
    .optional()
    .describe(
      "A JSON file with what is known of models, by name: `context_window`, `max_output_tokens`, `prices` (`input`, `output`, `cached_input`: US dollars for a million tokens), `capabilities`, and `amendments`, what requests to its server need. What it leaves out is asked of the model's server, or taken from LangChain's profiles.",
    ),
  MAX_ANSWER_TOKENS: wholeNumber(1)
    .default(2_000)
    .describe(
      "Longest answer, in tokens, thoughts of the model included. A longer one is cut, and `done.cut` says so. Summaries and core memory may have 4,000 if that is more.",
    ),
  SUMMARY_MODEL: z.string().optional().describe("The model that writes summaries. Unset: CHAT_MODEL."),
  ROUTER_MODEL: z
    .string()
    .optional()
    .describe("The model that chooses a knowledge base when keywords and meaning leave it open. Unset: CHAT_MODEL."),
  TITLE_MODEL: z
    .string()
    .optional()
    .describe("The model that names each conversation after its first exchange, in the background. Unset: its first words are its title."),
  MEMORY_MODEL: z.string().optional().describe("The model that keeps core memory. It must be able to call tools. Unset: CHAT_MODEL."),
};

export const embeddings = {
  EMBEDDING_BASE_URL: httpUrl
    .optional()
    .describe(
      "The server of the embedding model, with its `/v1`. Unset: OPENAI_BASE_URL. Without a model's server, a built-in embedder is used.",
    ),
  EMBEDDING_API_KEY: z.string().optional().describe("The key of that server. Unset: OPENAI_API_KEY."),
  EMBEDDING_HEADERS: jsonHeaders
    .optional()
    .describe("Headers that every request to that server has, as a JSON object. Unset: those of MODEL_HEADERS when it is the same server."),
  EMBEDDING_BATCH: wholeNumber(1, 2_048)
    .optional()
    .describe("The most texts of one request. Unset: 64, and fewer when the server has refused so many."),
  EMBEDDING_MODEL: z
    .string()
    .optional()
    .describe("The embedding model; `built-in` needs no server. After a change, run `npm run reindex`. Unset: text-embedding-3-small."),
  EMBEDDING_DIMENSIONS: wholeNumber(2, 32_768)
    .optional()
    .describe("The length of vectors to ask for, if the model can give shorter ones. Unset: what the model gives."),
  EMBEDDING_QUERY_MODEL: z
    .string()
    .optional()
    .describe("A model of its own for questions, as E5 and BGE may need. Unset: EMBEDDING_MODEL."),
  EMBEDDING_QUERY_PREFIX: z.string().optional().describe("Text in front of each question that is embedded."),
  EMBEDDING_PASSAGE_PREFIX: z.string().optional().describe("Text in front of each passage that is embedded."),
  RERANK_BASE_URL: httpUrl
    .optional()
    .describe(
      "The server of a cross-encoder that orders the best 25 exchanges of a search anew: `/rerank` below this address, as vLLM, Jina, Cohere and TEI have it. It has 300 ms; then their order stays. Unset: none.",
    ),
  RERANK_API_KEY: z.string().optional().describe("The key of that server. Unset: none is sent."),
  RERANK_MODEL: z.string().optional().describe("The model, if that server asks for one."),
};
