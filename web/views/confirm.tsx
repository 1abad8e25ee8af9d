import type { ComponentChildren } from "preact";
import { texts } from "../texts/texts.ts";
import { Button } from "./button.tsx";
import { useAction } from "./loaded.tsx";
import { Modal } from "./modal.tsx";

interface ConfirmProps {
  title: string;
  go: string;
  children: ComponentChildren;
  action: () => Promise<void>;
  onClose: () => void;
}

export function Confirm({ title, go, children, action, onClose }: ConfirmProps) {
  const { isBusy, run, note } = useAction();
  return (
    <Modal title={title} onClose={onClose}>
      <p>{children}</p>
      {note}
      <div class="actions">
        <Button onClick={onClose}>{texts.value.cancel}</Button>
        <button type="button" class="danger" disabled={isBusy} onClick={() => void run(action)}>
          {go}
        </button>
      </div>
    </Modal>
  );
}
