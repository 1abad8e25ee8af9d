import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { texts } from "../texts/texts.ts";
import { IconButton } from "./button.tsx";

interface ModalProps {
  title: string;
  /** Without it the dialog cannot be closed. */
  onClose?: () => void;
  /** The side of the page; default its middle. */
  side?: "start" | "end";
  children: ComponentChildren;
}

/** Focus stays in the dialog, and then returns to where it was. */
export function Modal({ title, onClose, side, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={side ? `drawer drawer-${side}` : "modal"}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose?.();
      }}
    >
      <div class="modal-body">
        <div class="panel-head">
          <h2 id={titleId}>{title}</h2>
          {onClose && <IconButton label={texts.value.close} onClick={onClose} />}
        </div>
        {children}
      </div>
    </dialog>
  );
}
