import { repeatsItself } from "../../text/repeats-itself.ts";
import { hasWords, sameWords, sharesNothing } from "../../text/same-words.ts";
import { asks } from "../../text/telling-or-asking.ts";
import type { Neighbour } from "./fill-room.ts";

const LONGEST_QUESTION = 80;

/** Sorts texts by their hits' ids and drops short questions repeated with the same words. */
export function makeFirstAsked(): <Text extends { id: string; userMessage: string }>(
  ids: readonly string[],
  texts: readonly Text[],
) => Text[] {
  const asked = new Set<string>();
  function isAgain({ userMessage }: { userMessage: string }): boolean {
    if (userMessage.length > LONGEST_QUESTION || !asks(userMessage)) return false;
    return asked.size === asked.add(sameWords(userMessage)).size;
  }
  return (ids, texts) => {
    const textOf = new Map(texts.map((text) => [text.id, text]));
    return ids.flatMap((id) => textOf.get(id) ?? []).filter((text) => !isAgain(text));
  };
}

type Said = Pick<Neighbour, "userMessage" | "assistantMessage">;

/**
 * Drops babble from exchanges that are shown together: answers that loop, or that were given to unrelated messages. A model would take them
 * for facts.
 */
export function makeWithoutBabble(exchanges: readonly Said[]): <One extends Said>(said: One) => One {
  const asked = new Map<string, string[]>();
  for (const { userMessage, assistantMessage } of exchanges) {
    const key = sameWords(assistantMessage);
    asked.set(key, [...(asked.get(key) ?? []), userMessage]);
  }
  function isBabble({ userMessage, assistantMessage }: Said): boolean {
    if (userMessage === "" || !hasWords(assistantMessage)) return false;
    const others = asked.get(sameWords(assistantMessage)) ?? [];
    return repeatsItself(assistantMessage) || others.some((other) => sharesNothing(userMessage, other));
  }
  return (said) => (isBabble(said) ? { ...said, assistantMessage: "" } : said);
}
