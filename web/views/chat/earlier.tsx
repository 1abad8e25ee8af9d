import { useRef } from "preact/hooks";
import { earlierError, earlierIsLoading, hasEarlier, soughtIsFarBack } from "../../state/thread/stored-messages.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";

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

/** A message's place on the screen before others are put above it. */
export interface KeptPlace {
  element: HTMLElement;
  top: number;
  /** The focused button may have been removed. */
  takesFocus: boolean;
}

export function placeOfFirst(thread: HTMLElement, takesFocus: boolean): KeptPlace | null {
  const element = thread.querySelector<HTMLElement>("article");
  return element && { element, top: element.getBoundingClientRect().top, takesFocus };
}

export function restorePlace(scroller: HTMLElement, { element, top, takesFocus }: KeptPlace): void {
  scroller.scrollTop += element.getBoundingClientRect().top - top;
  if (takesFocus) element.focus({ preventScroll: true });
}
