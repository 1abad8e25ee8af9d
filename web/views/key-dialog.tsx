import { useState } from "preact/hooks";
import { giveKey, keyDialog } from "../api/api-key.ts";
import { texts } from "../texts/texts.ts";
import { submitting } from "./loaded.tsx";
import { Modal } from "./modal.tsx";

export function KeyDialog() {
  const t = texts.value.key;
  const [key, setKey] = useState("");
  return (
    <Modal title={t.title}>
      <form class="stack" onSubmit={submitting(() => giveKey(key.trim()))}>
        <p class="quiet">{t.explain}</p>
        {keyDialog.value?.refused && (
          <p class="note error" role="alert">
            {t.refused}
          </p>
        )}
        <label class="field">
          <span>{t.label}</span>
          <input type="password" autocomplete="off" required value={key} onInput={({ currentTarget }) => setKey(currentTarget.value)} />
        </label>
        <div class="actions">
          <button type="submit" class="primary" disabled={key.trim() === ""}>
            {t.go}
          </button>
        </div>
      </form>
    </Modal>
  );
}
