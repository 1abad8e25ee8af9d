import { closePanel, panelIsOpen } from "../../state/page/side-panel.ts";
import { isAsking, isOver } from "../../state/turns/live-turn.ts";
import { goTo, place, viewAddresses } from "../../state/page/route.ts";
import { stopTurn } from "../../state/turns/run-turn.ts";
import { beginConversation, conversationId, turnsHere } from "../../state/thread/thread.ts";

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;

/** Closes the panel beside the thread, else stops the answer, but not a turn that asks. */
function escape(): void {
  const running = turnsHere.value.find((turn) => !isOver(turn) && !isAsking(turn));
  if (panelIsOpen.value) closePanel();
  else if (running) void stopTurn(running);
}

function inspectLast(): void {
  const buttons = document.querySelectorAll<HTMLButtonElement>("button.inspect");
  buttons[buttons.length - 1]?.click();
}

const WITH_ALT: Record<string, () => void> = { KeyN: beginConversation, KeyI: inspectLast };

/** With Alt, a digit opens the view at that place. */
function actionWithAlt(code: string): (() => void) | undefined {
  const address = Object.values(viewAddresses(conversationId.value))[Number(code.replace("Digit", "")) - 1];
  return address === undefined ? WITH_ALT[code] : () => goTo(address);
}

export function listenForShortcuts(onHelp: () => void): () => void {
  function onKeyDown(event: KeyboardEvent): void {
    if (event.isComposing || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const withAlt = event.altKey ? actionWithAlt(event.code) : undefined;
    if (withAlt) {
      event.preventDefault();
      withAlt();
    } else if (event.key === "Escape" && place.value.view === "chat") {
      escape();
    } else if (!event.altKey && !isWriting(event.target) && event.key === "/") {
      event.preventDefault();
      document.getElementById("message")?.focus();
    } else if (!event.altKey && !isWriting(event.target) && event.key === "?") {
      event.preventDefault();
      onHelp();
    }
  }
  addEventListener("keydown", onKeyDown);
  return () => removeEventListener("keydown", onKeyDown);
}
