import { titleOf } from "../../state/conversations/conversations.ts";
import { continueDeletion, deletion, pauseDeletion, takeBack } from "../../state/thread/delete-later.ts";
import { texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";

/** Its time stands still while somebody points at it. */
export function UndoToast() {
  const t = texts.value.conversations;
  if (!deletion.value) return null;
  return (
    <div
      class="toast"
      role="status"
      onMouseEnter={pauseDeletion}
      onMouseLeave={continueDeletion}
      onFocusCapture={pauseDeletion}
      onBlurCapture={continueDeletion}
    >
      <span dir="auto">{t.deleted(titleOf(deletion.value.conversation))}</span>
      <Button onClick={takeBack}>{t.undo}</Button>
    </div>
  );
}
