import { computed } from "@preact/signals";
import type { AgentType, ChatRequest } from "../../api/types.ts";
import { isTemporary, nameSession } from "../../browser/session-names.ts";
import { storedMessages } from "./stored-messages.ts";
import { activeAgent, beginConversation, renameDraft, sessionId, turnsHere } from "./thread.ts";
import { makeUnsent } from "./unsent.ts";

/** How messages are answered. Empty: the service chooses. */
export interface Choices {
  agent: string;
  model: string;
  knowledge: string;
  mode: AgentType | "";
  /** Memory learns nothing from it. */
  isTemporary: boolean;
  /** A turn stops and asks before each step. */
  isStepping: boolean;
}

const unsent = makeUnsent<Partial<Choices>>("choices");

/** What the newest turn asked for, from this tab or from stored messages. */
function askedLast(): Partial<Record<keyof ChatRequest, unknown>> {
  const sentHere = turnsHere.value.findLast(({ isFollowed }) => !isFollowed);
  if (sentHere) return sentHere.body;
  const { chosen, remember } = storedMessages.value.findLast(({ metadata }) => "turn_id" in metadata)?.metadata ?? {};
  return { ...(chosen as object | undefined), remember };
}

/** An imported message may have any metadata. */
const nameIn = (value: unknown): string => (typeof value === "string" ? value : "");

/** The choices of the shown conversation. */
export const choices = computed<Choices>(() => {
  const { agent, model, kb_prefix: knowledge, agent_type: mode, remember, execution } = askedLast();
  return {
    // The agent that handed the conversation over is not asked for again.
    agent: activeAgent.value === null ? nameIn(agent) : "",
    ...{ model: nameIn(model), knowledge: nameIn(knowledge), mode: nameIn(mode) as AgentType | "" },
    isTemporary: remember === false || isTemporary(sessionId.value),
    isStepping: execution === "stepping",
    ...unsent.of(sessionId.value),
  };
});

const hasBegun = (): boolean => storedMessages.value.length > 0 || turnsHere.value.length > 0 || isTemporary(sessionId.value);

export const choose = (changes: Partial<Choices>): void => unsent.keep(sessionId.value, { ...unsent.of(sessionId.value), ...changes });

/** A conversation is temporary from its beginning: a begun one gives way to a new one. */
export function chooseTemporary(isOn: boolean): void {
  if (hasBegun()) beginConversation();
  choose({ isTemporary: isOn });
}

/** The choices for the turn that is now sent. A temporary one gets a session that says so. */
export function sendChoices(): Partial<ChatRequest> {
  const { agent, model, knowledge, mode, isTemporary: isOn, isStepping } = choices.value;
  unsent.keep(sessionId.value, null);
  if (isOn && !hasBegun()) renameDraft(nameSession("temporary-"));
  return {
    kb_prefix: knowledge || null,
    agent_type: mode || null,
    ...(agent === "" ? {} : { agent }),
    ...(model === "" ? {} : { model }),
    ...(isOn ? { remember: false } : {}),
    ...(isStepping ? { execution: "stepping" } : {}),
  };
}
