import { signal } from "@preact/signals";
import type { AgentType, ChatRequest } from "../../api/types.ts";

/** How messages are answered. Empty: as the service chooses. */
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

/** Of the messages that follow. */
export const choices = signal<Choices>({ agent: "", model: "", knowledge: "", mode: "", isTemporary: false, isStepping: false });

export const choose = (changes: Partial<Choices>): void => void (choices.value = { ...choices.value, ...changes });

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
