import { useSignalEffect, useSignal } from "@preact/signals";
import { isAsking, isOver } from "../../state/turns/live-turn.ts";
import { turnsHere } from "../../state/thread/thread.ts";
import { texts } from "../../texts/texts.ts";
import { askedInWords } from "../questions/words.ts";

const READ_OUT = 1_000;

/** For screen readers: that a turn is being answered, then the answer, but no single tokens. */
export function Announcer() {
  const said = useSignal("");
  useSignalEffect(() => {
    const turn = turnsHere.value.at(-1);
    if (!turn) said.value = "";
    else if (isAsking(turn)) said.value = texts.value.questions.asks(askedInWords(turn.asked.value.open));
    else if (!isOver(turn)) said.value = texts.value.chat.isReading;
    else if (turn.error.value) said.value = texts.value.errors[turn.error.value.code] ?? turn.error.value.message;
    else said.value = turn.text.peek().slice(0, READ_OUT);
  });
  return (
    <div class="visually-hidden" role="status" aria-live="polite" data-testid="announcer">
      {said}
    </div>
  );
}
