import type { OtherRead, ReaderName } from "./oracle-readers.ts";

/** What of some dialects another reader reads otherwise than the service does. */
export interface Difference {
  reader: ReaderName;
  what: readonly (keyof OtherRead)[];
  why: string;
  dialects: readonly string[];
}

const BROKEN_OFF = ["finish abort", "finish network_error", "finish insufficient_system_resource"];
const FILTERED = ["finish content_filter", "finish SAFETY", "finish sensitive"];
const UNFINISHED = ["neither a finish nor [DONE]", "calls that the bound cut"];
const WHOLE_BODIES = ["a whole body", "a whole body on lines", "a whole body behind blank lines"];
const LISTED_THOUGHTS = ["reasoning_details alone", "a summary in reasoning_details"];

/** Of `@ai-sdk/openai-compatible` and `ai`. */
const OF_AI: readonly Omit<Difference, "reader">[] = [
  { what: ["text", "calls", "fails"], why: "it reads the first choice, whatever its index", dialects: ["other choices"] },
  { what: ["text", "calls", "fails"], why: "a frame whose time is no number is none", dialects: ["odd envelope"] },
  { what: ["text", "calls", "fails"], why: "it reads events only", dialects: WHOLE_BODIES },
  { what: ["text", "calls"], why: "it reads deltas only", dialects: ["message for delta"] },
  { what: ["thoughts"], why: "it reads no lists of thoughts beside the content", dialects: LISTED_THOUGHTS },
  {
    what: ["text", "thoughts"],
    why: "it waits for the shortest end of a piece that may begin a tag, so it misses a cut tag that has its own beginning in it again",
    dialects: ["<|channel|>", "<|channel|> behind <|start|>"],
  },
  {
    what: ["fails"],
    why: "an answer that is all thought is an answer to it",
    dialects: ["thoughts that the bound cut", "a thought that never closes"],
  },
  { what: ["calls", "fails"], why: "a frame is none whose arguments are no text", dialects: ["arguments as an object"] },
  { what: ["calls", "fails"], why: "a frame is none whose calls have an index that is no number", dialects: ["indexes as texts"] },
  { what: ["calls", "fails"], why: "a frame is none whose calls are no list", dialects: ["tool_calls as an object"] },
  { what: ["calls"], why: "the second half of a name is another call to it", dialects: ["the name in pieces"] },
  { what: ["calls", "fails"], why: "a piece with another id is another call to it", dialects: ["another id in each piece, and no index"] },
  { what: ["calls"], why: "it does not know the older protocol", dialects: ["function_call"] },
  { what: ["calls"], why: "it hands on calls of answers that did not end", dialects: UNFINISHED },
  { what: ["fails"], why: "[DONE] is no end to it", dialects: ["no finish, but [DONE]"] },
  { what: ["fails"], why: "it leaves it to the caller what an end means", dialects: [...BROKEN_OFF, ...FILTERED] },
  { what: ["fails"], why: "a frame without a list of choices is an error", dialects: ["usage behind null choices", "pings"] },
  { what: ["fails"], why: "an event without data is an error", dialects: ["empty data"] },
  { what: ["fails"], why: "it reads on behind [DONE]", dialects: ["more behind [DONE]"] },
  { what: ["calls", "fails"], why: "it waits for the connection to close", dialects: ["an open connection behind [DONE]"] },
];

/** Of `openai`, whose `chat.completions.stream` joins the frames. */
const OF_OPENAI: readonly Omit<Difference, "reader">[] = [
  { what: ["fails"], why: "a message needs a role", dialects: ["role empty in each", "role null in each", "role missing"] },
  { what: ["fails"], why: "every choice needs a role and an end", dialects: ["other choices"] },
  { what: ["text", "calls", "fails"], why: "a choice needs a number", dialects: ["choices without an index", "index as text"] },
  { what: ["text", "calls", "fails"], why: "it reads deltas only", dialects: ["message for delta"] },
  { what: ["text", "calls", "fails"], why: "it reads events only", dialects: WHOLE_BODIES },
  { what: ["text", "calls", "fails"], why: "a frame without a list of choices is an error", dialects: ["pings"] },
  { what: ["text", "calls", "fails"], why: "an event without data is an error", dialects: ["empty data"] },
  { what: ["fails"], why: "a frame without a list of choices is an error", dialects: ["usage behind null choices"] },
  { what: ["text", "thoughts"], why: "it joins parts of a content as texts", dialects: ["content in parts"] },
  { what: ["text"], why: "it keeps a refusal apart from the text", dialects: ["refusal"] },
  { what: ["thoughts"], why: "it reads no lists of thoughts beside the content", dialects: LISTED_THOUGHTS },
  {
    what: ["text", "thoughts"],
    why: "it leaves thoughts in the text",
    dialects: [
      ...["<think>", "<think> on lines of its own", "<think> behind a line break", "<thought>", "<thinking>", "<reasoning>"],
      ...["[THINK]", "◁think▷", "<|channel|>", "<|channel|> behind <|start|>", "a closing tag alone", "a thought that never closes"],
    ],
  },
  { what: ["text"], why: "it leaves the tags in the text", dialects: ["nothing between the tags"] },
  {
    what: ["text", "calls", "fails"],
    why: "a piece of a call needs an index",
    dialects: ["one frame with everything"],
  },
  {
    what: ["calls", "fails"],
    why: "a piece of a call needs a number for its index",
    dialects: [
      "calls whole, without an index",
      "calls whole, without an index or ids",
      "no index",
      "index null",
      "indexes as texts",
      "another id in each piece, and no index",
    ],
  },
  {
    what: ["calls"],
    why: "it joins what has one index",
    dialects: [
      ...["calls whole, all of index 0", "calls whole, all of index 0, without ids", "calls whole, of one id and index"],
      ...["one index for all", "one index for all, ids in each piece"],
    ],
  },
  { what: ["fails"], why: "no index may be left out", dialects: ["indexes from 1", "indexes with gaps"] },
  { what: ["calls", "fails"], why: "a call needs a type", dialects: ["no type"] },
  { what: ["calls", "fails"], why: "it takes a call for a list of calls", dialects: ["tool_calls as an object"] },
  { what: ["calls"], why: "it joins arguments as texts", dialects: ["arguments as an object"] },
  { what: ["calls"], why: "the second half of a name takes the place of the first", dialects: ["the name in pieces"] },
  { what: ["calls"], why: "it hands on calls of answers that did not end", dialects: UNFINISHED },
  { what: ["fails"], why: "[DONE] is no end to it", dialects: ["no finish, but [DONE]"] },
  { what: ["fails"], why: "it leaves it to the caller what an end means", dialects: [...BROKEN_OFF, ...FILTERED] },
];

export const DIFFERENCES: readonly Difference[] = [
  ...OF_AI.map((difference) => ({ reader: "ai" as const, ...difference })),
  ...OF_OPENAI.map((difference) => ({ reader: "openai" as const, ...difference })),
];
