import { choices, choose } from "../../state/thread/choices.ts";
import { activeAgent } from "../../state/thread/thread.ts";
import { ASSISTANT } from "../../state/turns/team.ts";
import { texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";

/** Who answers the next message after a handoff, unless it names somebody else. */
export function HandedOver() {
  const t = texts.value.chat;
  const agent = activeAgent.value;
  if (agent === null || choices.value.agent !== "") return null;
  function end(): void {
    choose({ agent: ASSISTANT });
    // The button is gone.
    document.getElementById("message")?.focus();
  }
  return (
    <p class="handed-over" data-active-agent={agent}>
      <span dir="auto">{t.answersNow(agent)}</span> <QuietButton onClick={end}>{t.endHandoff}</QuietButton>
    </p>
  );
}
