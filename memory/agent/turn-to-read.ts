import type { Actor } from "../../stores/postgres/memory/write-sections.ts";
import type { Trigger } from "./working-memory.ts";

/** A completed turn, or an imported message of the user, as the memory agent reads it. */
export interface TurnToRead {
  /** Of the user's message. */
  messageId: string;
  userMessage: string;
  /** Empty: there is none. */
  assistantMessage: string;
  saidAt: Date;
  /** `import` for one that came by an import. */
  actor: Actor;
}

export function triggerOf({ messageId, saidAt, actor }: TurnToRead): Trigger {
  return { messageId, saidAt, actor };
}
