import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { toApiError, type ApiError } from "../api/api-error.ts";
import { texts } from "../texts/texts.ts";
import { ErrorNote } from "./error-note.tsx";
import { Modal } from "./modal.tsx";

interface ConfirmProps {
  title: string;
  go: string;
  children: ComponentChildren;
  action: () => Promise<void>;
  onClose: () => void;
}

/** Asks before something that cannot be undone, and says so when it failed. */
export function Confirm({ title, go, children, action, onClose }: ConfirmProps) {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  async function run(): Promise<void> {
    setIsBusy(true);
    setError(null);
    try {
      await action();
    } catch (thrown) {
      setError(toApiError(thrown));
      setIsBusy(false);
    }
  }
  return (
    <Modal title={title} onClose={onClose}>
      <p>{children}</p>
      {error && <ErrorNote error={error} />}
      <div class="actions">
        <button type="button" onClick={onClose}>
          {texts.value.cancel}
        </button>
        <button type="button" class="danger" disabled={isBusy} onClick={() => void run()}>
          {go}
        </button>
      </div>
    </Modal>
  );
}
