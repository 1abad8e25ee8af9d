import { batch } from "@preact/signals";
import type { ChatRequest } from "../../api/types.ts";
import { sendChoices } from "./choices.ts";
import { isOver } from "../turns/live-turn.ts";
import { userId } from "../page/settings.ts";
import { sendTurn } from "../turns/turns.ts";
import { sessionId, turnsHere } from "./thread.ts";

/** Whether a turn of the shown conversation runs or waits for its user. */
export const isBeingAnswered = (): boolean => turnsHere.value.some((turn) => !isOver(turn));

/** Says something in the shown conversation, with its choices. */
export function say(asked: Pick<ChatRequest, "message" | "edit_of" | "regenerate">): void {
  const owner = userId.value;
  if (owner === null) return;
  batch(() => {
    const chosen = sendChoices();
    const body = { user_id: owner, session_id: sessionId.value, on_disconnect: "continue", interactive: true } as const;
    sendTurn({ kb_prefix: null, agent_type: null, ...body, ...asked, ...chosen });
  });
}
