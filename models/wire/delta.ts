import type { UsageMetadata } from "@langchain/core/messages";
import type { Echo } from "../../turn/echo.ts";

/** How an answer ended: by itself, at a bound, by a filter of its server, or because something broke. */
export type Finish = "whole" | "cut" | "filtered" | "failed";

/** A part of a model's answer, the same for every server. */
export type Delta =
  /** `refused`: the model declines to answer. */
  | { type: "text"; text: string; refused?: true }
  /** Reasoning, which is no part of the answer. */
  | { type: "thought"; text: string }
  /** The text so far was a thought: its closing tag had no opening one. */
  | { type: "retract" }
  /** A piece of the call at this place, from 0. The first has its name; `arguments` are appended. */
  | { type: "call"; place: number; id: string; name: string; arguments: string }
  | { type: "usage"; usage: UsageMetadata }
  /** What its server wants back. Its calls are named by their places. */
  | { type: "echo"; echo: Echo }
  /** The server reports that it is still working. */
  | { type: "alive" }
  /** The last one. `word`: as the server said it. */
  | { type: "finish"; finish: Finish; word: string };

const WORDS: Readonly<Record<Finish, string>> = {
  whole: "stop end_turn eos eos_token stop_sequence tool_calls tool_use function_call completed",
  cut: "length max_tokens max_output_tokens model_length max_length token_limit model_context_window_exceeded",
  filtered: "content_filter content_filtered safety recitation blocklist prohibited_content spii sensitive refusal guardrail_intervened",
  failed: "error abort aborted cancelled canceled network_error insufficient_system_resource malformed_function_call failed",
};
const FINISHES = new Map(
  Object.entries(WORDS).flatMap(([finish, words]) => words.split(" ").map((word) => [word, finish as Finish] as const)),
);

/** Null: it is no word. Unknown words are whole. */
export function readFinish(word: unknown): Finish | null {
  if (typeof word !== "string" || word === "" || word === "null") return null;
  return FINISHES.get(word.toLowerCase()) ?? "whole";
}

export const isKnownFinish = (word: string): boolean => FINISHES.has(word.toLowerCase());
