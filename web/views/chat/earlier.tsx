import { useRef } from "preact/hooks";
import { earlierError, earlierIsLoading, hasEarlier, soughtIsFarBack } from "../../state/stored-messages.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";

/** What stands above the messages while there are earlier ones: the way to them. */
export function Earlier({ isSeeking, onShow }: { isSeeking: boolean; onShow: (byKeyboard: boolean) => void }) {
  const t = texts.value;
  const button = useRef<HTMLButtonElement>(null);
  if (!hasEarlier.value) return null;
  return (
    <>
      {isSeeking && soughtIsFarBack.value && <p class="note">{t.chat.farBack}</p>}
      {earlierError.value && <ErrorNote error={earlierError.value} />}
      <button
        type="button"
        class="earlier"
        ref={button}
        aria-disabled={earlierIsLoading.value}
        onClick={() => onShow(document.activeElement === button.current)}
      >
        {earlierIsLoading.value ? t.loading : t.chat.earlier}
      </button>
    </>
  );
}
