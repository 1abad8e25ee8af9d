import { effect, untracked } from "@preact/signals";
import { eraseConversation } from "../../api/endpoints.ts";
import { chatAddress, place, renamePlace } from "../page/route.ts";
import { readTab, writeTab } from "../../browser/tab-storage.ts";
import { isTemporary } from "../../browser/session-names.ts";
import { conversationId, forgetDraft, forgetThread, sessionId } from "./thread.ts";
import { drafts } from "./unsent.ts";
import { eraseTurn } from "../turns/run-turn.ts";
import { forgetTurns, liveTurns } from "../turns/turns.ts";

const LEFT = "left";

const turnsOf = (session: string) => liveTurns.value.filter(({ body }) => body.session_id === session);

/** Undefined during its first turn. */
const idOf = (session: string, id: string | null): string | undefined =>
  id ?? turnsOf(session).find(({ result }) => result.value)?.result.value?.conversation_id;

/** A later visit erases what cannot be erased now. */
async function erase(session: string, known: string | null): Promise<void> {
  const id = idOf(session, known);
  const turns = turnsOf(session);
  forgetDraft(session);
  drafts.keep(session, null);
  if (turns[0]) forgetTurns(turns[0].body.user_id, session);
  await Promise.allSettled(id === undefined ? turns.map(eraseTurn) : [eraseConversation(id, true)]);
}

/** Erases a temporary conversation when another is shown, or the page is left. */
export function watchTemporary(): void {
  const left = readTab<string>(LEFT);
  if (left !== null && left === place.value.conversationId) renamePlace(chatAddress());
  writeTab(LEFT, null);
  let shown = { session: sessionId.value, id: conversationId.value };
  effect(() => {
    const before = shown;
    shown = { session: sessionId.value, id: conversationId.value };
    if (before.session !== shown.session && isTemporary(before.session)) untracked(() => void erase(before.session, before.id));
  });
  addEventListener("pagehide", () => {
    const id = isTemporary(shown.session) ? idOf(shown.session, shown.id) : undefined;
    // The first turn of one goes on after a reload.
    if (id === undefined) return;
    writeTab(LEFT, id);
    forgetThread();
  });
}
