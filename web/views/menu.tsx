import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

interface MenuProps {
  label: string;
  children: ComponentChildren;
}

/** A "⋯" that opens buttons. Escape, a click elsewhere and a choice close it. */
export function Menu({ label, children }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  function open(): void {
    if (!button.current || !list.current) return;
    list.current.togglePopover();
    const { bottom, top, right } = button.current.getBoundingClientRect();
    const { offsetHeight, offsetWidth, style } = list.current;
    style.top = `${bottom + offsetHeight < innerHeight ? bottom : Math.max(0, top - offsetHeight)}px`;
    style.left = `${Math.max(8, Math.min(right - offsetWidth, innerWidth - offsetWidth - 8))}px`;
  }
  return (
    <>
      <button
        type="button"
        class="icon menu-button"
        ref={button}
        aria-label={label}
        title={label}
        aria-haspopup="true"
        aria-controls={id}
        onClick={open}
      >
        <span aria-hidden="true">⋯</span>
      </button>
      <div
        id={id}
        class="menu"
        popover="auto"
        role="group"
        aria-label={label}
        ref={list}
        onClick={({ target }) => target instanceof Element && target.closest("button") && list.current?.hidePopover()}
      >
        {children}
      </div>
    </>
  );
}
