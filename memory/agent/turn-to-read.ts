import { lexicalText } from "../../stores/search/lexical-text.ts";
import type { Actor } from "../../stores/postgres/write-sections.ts";
import type { Trigger } from "./working-memory.ts";

/** A completed turn as the memory agent reads it. */
export interface TurnToRead {
  /** Of the user's message. */
  messageId: string;
  userMessage: string;
  assistantMessage: string;
  saidAt: Date;
  /** `import` for one that came by an import. */
  actor: Actor;
}

export function triggerOf({ messageId, saidAt, actor }: TurnToRead): Trigger {
  return { messageId, saidAt, actor };
}

/** Which of the turns that were read together a text comes from: the one with most words in common, of equals the last. */
export function likeliestTurn(turns: readonly TurnToRead[], text: string): TurnToRead | undefined {
  const words = new Set(lexicalText(text).split(" "));
  let best: { turn: TurnToRead; shared: number } | undefined;
  for (const turn of turns) {
    const shared = new Set(
      lexicalText(turn.userMessage)
        .split(" ")
        .filter((word) => words.has(word)),
    ).size;
    if (!best || shared >= best.shared) best = { turn, shared };
  }
  return best?.turn;
}
