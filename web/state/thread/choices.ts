import { computed, signal } from "@preact/signals";
import type { AgentType, ChatRequest } from "../../api/types.ts";
import { readTab, writeTab } from "../../browser/tab-storage.ts";
import { storedMessages } from "./stored-messages.ts";
import { beginConversation, sessionId, turnsHere } from "./thread.ts";

/** How messages of a conversation are answered. Empty: as the service chooses. */
export interface Choices {
  agent: string;
  model: string;
  knowledge: string;
  mode: AgentType | "";
  /** Memory learns nothing from it. */
  isTemporary: boolean;
  /** A turn stops before each of its steps, and asks. */
  isStepping: boolean;
}

const AUTOMATIC: Choices = { agent: "", model: "", knowledge: "", mode: "", isTemporary: false, isStepping: false };

type Kept = [sessionId: string, chosen: Partial<Choices>];
const STORED_AS = "choices";
/** Older ones are forgotten. */
const KEPT = 50;

/** What was chosen here, by conversation. It lasts as long as the tab. */
const kept = signal(readTab<Kept[]>(STORED_AS) ?? []);

const chosenHere = (): Partial<Choices> => kept.value.find(([session]) => session === sessionId.value)?.[1] ?? {};

/** Those of the shown conversation: what was said there tells whether it is temporary. */
export const choices = computed<Choices>(() => {
  const chosen = { ...AUTOMATIC, ...chosenHere() };
  const saidHere = turnsHere.value.findLast(({ isFollowed }) => !isFollowed)?.body;
  const newest = saidHere ?? storedMessages.value.at(-1)?.metadata;
  return newest ? { ...chosen, isTemporary: newest["remember"] === false } : chosen;
});

export function choose(changes: Partial<Choices>): void {
  const others = kept.value.filter(([session]) => session !== sessionId.value);
  kept.value = [[sessionId.value, { ...chosenHere(), ...changes }] satisfies Kept, ...others].slice(0, KEPT);
  writeTab(STORED_AS, kept.value);
}

/** A conversation is temporary from its beginning: one that has begun makes way for a new one. */
export function chooseTemporary(isTemporary: boolean): void {
  if (storedMessages.value.length > 0 || turnsHere.value.length > 0) beginConversation();
  choose({ isTemporary });
}

/** As a turn says it. */
export function choicesAsFields({ agent, model, knowledge, mode, isTemporary, isStepping }: Choices): Partial<ChatRequest> {
  return {
    kb_prefix: knowledge || null,
    agent_type: mode || null,
    ...(agent === "" ? {} : { agent }),
    ...(model === "" ? {} : { model }),
    ...(isTemporary ? { remember: false } : {}),
    ...(isStepping ? { execution: "stepping" } : {}),
  };
}
