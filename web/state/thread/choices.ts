import { computed } from "@preact/signals";
import type { AgentType, ChatRequest } from "../../api/types.ts";
import { readTab, writeTab } from "../../browser/tab-storage.ts";
import { storedMessages } from "./stored-messages.ts";
import { beginConversation, sessionId, turnsHere } from "./thread.ts";
import { isTemporary } from "../thread/session-names.ts";
import { storedMessages } from "../thread/stored-messages.ts";
import { beginConversation, sessionId, turnsHere } from "../thread/thread.ts";
import { makeUnsent } from "../thread/unsent.ts";

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

/** What was chosen here since the last message. */
const unsent = makeUnsent<Partial<Choices>>("choices");

/** What the newest turn of the conversation asked for: one of this tab, or as the service keeps it with the messages. */
function askedLast(): Partial<Record<keyof ChatRequest, unknown>> {
  const sentHere = turnsHere.value.findLast(({ isFollowed }) => !isFollowed);
  if (sentHere) return sentHere.body;
  const { chosen, remember } = storedMessages.value.findLast(({ metadata }) => "turn_id" in metadata)?.metadata ?? {};
  return { ...(chosen as object | undefined), remember };
}

/** An imported message may have any metadata. */
const nameIn = (value: unknown): string => (typeof value === "string" ? value : "");

/** Those of the shown conversation. */
export const choices = computed<Choices>(() => {
  const { agent, model, kb_prefix: knowledge, agent_type: mode, remember, execution } = askedLast();
  return {
    ...{ agent: nameIn(agent), model: nameIn(model), knowledge: nameIn(knowledge), mode: nameIn(mode) as AgentType | "" },
    isTemporary: remember === false || isTemporary(sessionId.value),
    isStepping: execution === "stepping",
    ...unsent.of(sessionId.value),
  };
});

const hasBegun = (): boolean => storedMessages.value.length > 0 || turnsHere.value.length > 0 || isTemporary(sessionId.value);

export const choose = (changes: Partial<Choices>): void => unsent.keep(sessionId.value, { ...unsent.of(sessionId.value), ...changes });

/** A conversation is temporary from its beginning: one that has begun makes way for a new one. */
export function chooseTemporary(isOn: boolean): void {
  if (hasBegun()) beginConversation();
  choose({ isTemporary: isOn });
}

/** The choices as the turn says them that is now sent, and whether a temporary conversation begins with it. */
export function sendChoices(): { fields: Partial<ChatRequest>; beginsTemporary: boolean } {
  const { agent, model, knowledge, mode, isTemporary: isOn, isStepping } = choices.value;
  unsent.keep(sessionId.value, null);
  const fields: Partial<ChatRequest> = {
    kb_prefix: knowledge || null,
    agent_type: mode || null,
    ...(agent === "" ? {} : { agent }),
    ...(model === "" ? {} : { model }),
    ...(isOn ? { remember: false } : {}),
    ...(isStepping ? { execution: "stepping" } : {}),
  };
  return { fields, beginsTemporary: isOn && !hasBegun() };
}
