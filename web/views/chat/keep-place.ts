/** A message as it stands on the screen before others are put above it. */
export interface KeptPlace {
  element: HTMLElement;
  top: number;
  /** The keyboard was on what may be gone now: it goes on from this message. */
  takesFocus: boolean;
}

/** Where the first message stands; null when there is none. */
export function placeOfFirst(thread: HTMLElement, takesFocus: boolean): KeptPlace | null {
  const element = thread.querySelector<HTMLElement>("article");
  return element && { element, top: element.getBoundingClientRect().top, takesFocus };
}

/** Scrolls so that the message stands where it stood. */
export function restorePlace(scroller: HTMLElement, { element, top, takesFocus }: KeptPlace): void {
  scroller.scrollTop += element.getBoundingClientRect().top - top;
  if (takesFocus) element.focus({ preventScroll: true });
}
