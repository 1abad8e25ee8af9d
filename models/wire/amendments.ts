import { ECHOED, hasEcho } from "./echoed-fields.ts";
import type { WireMessage } from "./wire-message.ts";
import type { ServerFailure } from "./server-failure.ts";

/** Changes of requests to a server that refuses them as they are. */
export const AMENDMENTS = {
  max_completion_tokens: "the bound of the answer is sent as max_completion_tokens",
  max_tokens: "the bound of the answer is sent as max_tokens",
  no_stream_options: "no stream_options are sent",
  no_temperature: "no temperature is sent",
  no_top_p: "no top_p is sent",
  no_parallel_tool_calls: "no parallel_tool_calls are sent",
  tool_choice_auto: "a call is asked for, not forced",
  no_json_schema: "the form of an answer is asked for in words, and checked",
  no_name: "results of tools have no name",
  no_echo: "no reasoning is sent back",
  calls_in_words: "calls of another model are told in words",
  no_calls: "all calls are told in words",
  system_in_user: "instructions stand in the first message of the user",
  developer: "instructions have the role developer",
  no_developer: "instructions have the role system",
  user_last: "the last message is the user's",
  short_ids: "ids of calls have nine letters or digits",
  text_beside_calls: "an answer with calls has a text, too",
  single_calls: "each answer in the history has one call",
  calls_alone: "the text of an answer with calls stands in an answer of its own",
  v1_path: "/v1 stands before the path",
  thinks_first: "answers begin with a thought that has no opening tag",
  no_encoding_format: "no encoding_format is sent",
  no_dimensions: "no dimensions are sent",
} as const satisfies Record<string, string>;
export type Amendment = keyof typeof AMENDMENTS;

export const MOST_AMENDMENTS = 3;

/** A later one replaces its opposite. */
export const OPPOSITES: Partial<Record<Amendment, Amendment>> = {
  max_completion_tokens: "max_tokens",
  max_tokens: "max_completion_tokens",
  developer: "no_developer",
};

export interface RefusedRequest {
  body: Readonly<Record<string, unknown>> & { messages?: readonly WireMessage[] };
  url: URL;
  /** The caller's own options stay refused, by their names. */
  asked: ReadonlySet<string>;
}

/** Words for refusing a field or a form. */
const REFUSING =
  /unsupported|not (?:be )?(?:support|permit|allow|enabl|accept|recogni[sz]ed|implement|available|valid)|unrecogni[sz]ed|unknown|unexpected|extra(?:_forbidden| inputs| fields| attr)|forbidden|does ?n[o']t (?:support|accept|allow)|cannot be (?:used|set|specified)|can(?:not|'t) (?:use|set)|incompatible|deprecated|must (?:not )?be (?:1|omitted|unset)|only [\d.]+ is allowed|cannot both be|invalid message role|invalid (?:argument|parameter|field|type|value|input)|no such (?:field|parameter)|only (?:the default|`?auto|'auto|"auto|supports?)|should be|one of|不支持|不允许|未知/i;

/** A server's complaint in one line. */
export const wordsOf = ({ error, message }: ServerFailure): string => (error === undefined ? message : JSON.stringify(error));

const named = (name: string, words: string): boolean => new RegExp(`(?<![\\w.])${name}(?!\\w)`).test(words);

const messagesOf = ({ body }: RefusedRequest): readonly WireMessage[] => body.messages ?? [];

interface Row {
  amendment: Amendment;
  words: RegExp | ((words: string) => boolean);
  applies: (request: RefusedRequest) => boolean;
}

/** A field refused by its name, unless the caller asked for it. */
const field = (amendment: Amendment, name: string): Row => ({
  amendment,
  words: (words) => named(name, words) && REFUSING.test(words),
  applies: ({ body, asked }) => body[name] !== undefined && body[name] !== null && !asked.has(name),
});

/** Also after a dot or a bracket, as in `messages[2].content`. */
const isNamedIn = (name: string, words: string): boolean => new RegExp(`(?<!\\w)${name}(?!\\w)`).test(words);

/** Servers' words for a missing text. */
const NO_TEXT =
  /valid string|(?:must|should) be (?:a |of type )?string|expected .{0,20}string|non-?empty|(?:be|is|was|got|not|value|found) ["'`:<]{0,2}(?:null|none|nil)\b|content type: <nil>|null (?:value|is|was)|NoneType|(?:is|field) (?:required|missing|empty|invalid)|missing (?:field|required)|invalid content type|cannot be (?:empty|blank)/i;

const TOO_MUCH = /too (?:large|big|high|many)|at most|less than|exceed|maximum|greater than|out of range|between|<=|≤|超过|范围/i;

/** The first that fits holds. Servers' words are in `test/models/parameter-refusals.ts`. */
const ROWS: readonly Row[] = [
  {
    amendment: "max_completion_tokens",
    words: (words) =>
      !TOO_MUCH.test(words) && (/max_completion_tokens/.test(words) || (named("max_tokens", words) && REFUSING.test(words))),
    applies: ({ body }) => body["max_tokens"] !== undefined,
  },
  {
    amendment: "max_tokens",
    words: (words) => named("max_completion_tokens", words) && REFUSING.test(words) && !TOO_MUCH.test(words),
    applies: ({ body }) => body["max_completion_tokens"] !== undefined,
  },
  field("no_stream_options", "stream_options"),
  { ...field("no_stream_options", "stream_options"), words: /stream options can only/i },
  {
    amendment: "single_calls",
    words: /single tool.?calls?|parallel (?:tool|function).?calls? (?:is|are) not|one tool call (?:at a time|per)|multiple tool.?calls/i,
    applies: (request) => messagesOf(request).some(({ tool_calls }) => (tool_calls?.length ?? 0) > 1),
  },
  field("no_parallel_tool_calls", "parallel_tool_calls"),
  {
    amendment: "tool_choice_auto",
    words: (words) => /tool_?\s?choice/i.test(words),
    applies: ({ body }) => body["tool_choice"] !== undefined && body["tool_choice"] !== "auto" && body["tool_choice"] !== "none",
  },
  {
    amendment: "no_json_schema",
    words: (words) => /response_format|json_?schema|json mode|structured.?outputs?|grammar/i.test(words) && !/Responses API/.test(words),
    applies: ({ body }) => (body["response_format"] as { type?: unknown } | undefined)?.type !== undefined,
  },
  field("no_top_p", "top_p"), // before the other: some refuse both together
  field("no_temperature", "temperature"),
  {
    amendment: "no_developer",
    words: /developer|unexpected message role|incorrect role|invalid role/i,
    applies: (request) => messagesOf(request).some(({ role }) => role === "developer"),
  },
  {
    amendment: "user_last",
    words:
      /last (?:message|role)[^.]{0,80}(?:user|tool)|(?:must|should) end with (?:a |an )?(?:user|tool)|prefill|continue_final_message|final (?:message|turn)[^.]{0,60}(?:user|assistant)|cannot (?:end|finish) with/i,
    applies: (request) => messagesOf(request).at(-1)?.role === "assistant",
  },
  {
    amendment: "calls_alone",
    words: /either content or tool.?calls,? but not both/i,
    applies: (request) => messagesOf(request).some((message) => message.content !== null && (message.tool_calls?.length ?? 0) > 0),
  },
  {
    amendment: "short_ids",
    words:
      /(?:tool.?call.?ids?|tool_calls?\W{0,4}\d*\W{0,4}id|tool_use\.id|tool_use_id|call_id)\b.{0,200}(?:length|letters|a-z|pattern|too long|must|at most|match)|(?:length|pattern|a-z|too long).{0,200}(?:tool.?call.?ids?|tool_use_?id)|\bid of 9 characters/is,
    applies: (request) => messagesOf(request).some(({ tool_calls = [] }) => tool_calls.some(({ id }) => !/^[A-Za-z0-9]{9}$/.test(id))),
  },
  {
    amendment: "calls_in_words",
    words:
      /(?:missing|require|must)[^{}]{0,80}(?:thought_signature|reasoning_(?:content|details)|signature)|(?:thought_signature|reasoning_(?:content|details))[^{}]{0,80}(?:missing|require|must)/is,
    applies: (request) => messagesOf(request).some(isForeign),
  },
  {
    amendment: "no_echo",
    words: (words) => ECHOED.some((name) => isNamedIn(name, words)) && REFUSING.test(words),
    applies: (request) => messagesOf(request).some(hasEcho),
  },
  {
    amendment: "no_name",
    words: (words) =>
      /role '?user'? can have a name/.test(words) ||
      (/messages?\W{0,6}\d*\W{0,6}(?:tool\W{1,4})?name\b|(?<![\w.])[`'"]name[`'"]/.test(words) &&
        REFUSING.test(words) &&
        !/did you mean/.test(words)),
    applies: (request) => messagesOf(request).some(({ role, name }) => role === "tool" && name !== undefined),
  },
  {
    amendment: "text_beside_calls",
    words: (words) => isNamedIn("content", words) && NO_TEXT.test(words),
    applies: (request) => messagesOf(request).some(({ content }) => content === null),
  },
  {
    amendment: "no_calls",
    words: /alternat|tool role (?:is )?(?:not|un)|unknown (?:variant|role) ['`"]?tool\b|only user(?:,| and) (?:assistant|model)/i,
    applies: (request) => messagesOf(request).some(({ role }) => role === "tool"),
  },
  {
    amendment: "system_in_user",
    words: (words) =>
      (/\bsystem\b|developer instruction|system_instruction/i.test(words) &&
        /role|message|instruction|prompt|turn/i.test(words) &&
        REFUSING.test(words)) ||
      /alternat|only user(?:,| and) (?:assistant|model)/i.test(words),
    applies: (request) => messagesOf(request)[0]?.role === "system" || messagesOf(request)[0]?.role === "developer",
  },
  field("no_encoding_format", "encoding_format"),
  {
    amendment: "no_dimensions",
    words: (words) => /dimensions?|matryoshka/i.test(words) && (REFUSING.test(words) || /matryoshka/i.test(words)),
    applies: ({ body, asked }) => body["dimensions"] !== undefined && !asked.has("dimensions"),
  },
  {
    amendment: "v1_path",
    words: () => true,
    applies: ({ url }) => !/\/v\d/.test(url.pathname) && !/\/openai\//.test(url.pathname),
  },
];

/** Whether these calls are another server's: none of this one's fields is with them. */
export const isForeign = (message: WireMessage): boolean => (message.tool_calls?.length ?? 0) > 0 && !hasEcho(message);

/** llama.cpp answers template errors with 500, and unknown parts of a protocol with 501. */
const REFUSED = new Set([400, 404, 413, 415, 422, 500, 501]);
const NO_ROUTE = new Set([404, 405]);

/** LM Studio answers so, with status 200. */
const NO_ENDPOINT = /unexpected endpoint/i;

/** The change for a request that a server has refused; null: none is known to help. */
export function findAmendment(failure: ServerFailure, request: RefusedRequest): Amendment | null {
  const status = failure.status ?? 0;
  const words = wordsOf(failure);
  const isNoRoute = NO_ENDPOINT.test(words) || (NO_ROUTE.has(status) && !/model/i.test(words));
  const rows = ROWS.filter(({ amendment }) => (amendment === "v1_path" ? isNoRoute : REFUSED.has(status)));
  const fits = ({ words: said }: Row): boolean => (typeof said === "function" ? said(words) : said.test(words));
  return rows.find((row) => fits(row) && row.applies(request))?.amendment ?? null;
}

const TOO_MANY =
  /batch|or less|per request|\$\.input|too many|at most|maximum|max(?:imum)? (?:number|size|allowed)|larger than|exceed|less than or equal|more than|limit|inputs? (?:size|length|count|array)|不超过|最多|数量/i;
const ABOUT_TOKENS = /tokens?|context|characters?/i;

/** The most texts that an embedding server takes; null: it has refused something else. */
export function findBatch(failure: ServerFailure, texts: number): number | null {
  if (texts < 2 || !(failure.status === 400 || failure.status === 413 || failure.status === 422)) return null;
  const words = wordsOf(failure);
  if (!TOO_MANY.test(words) && failure.status !== 413) return null;
  if (ABOUT_TOKENS.test(words) && !/batch|inputs?\b|array|per request/i.test(words)) return null;
  const numbers = [...words.matchAll(/(?<![\d.])\d{1,4}(?![\d.]\d|\d)/g)].map(([number]) => Number(number));
  const told = numbers.filter((number) => number > 0 && number < texts && number !== failure.status);
  return told.length === 1 && told[0] !== undefined ? told[0] : Math.floor(texts / 2);
}
