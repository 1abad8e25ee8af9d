import { useState } from "preact/hooks";
import { eraseUser, exportUser } from "../../api/endpoints.ts";
import type { EraseAnswer } from "../../api/types.ts";
import { clearConversations } from "../../state/conversations.ts";
import { closePanel } from "../../state/side-panel.ts";
import { forgetThread } from "../../state/thread.ts";
import { forgetTurns } from "../../state/turns.ts";
import { texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { submitting, useAction } from "../loaded.tsx";
import { Receipt } from "../receipt.tsx";

/** Milliseconds until the browser has surely begun to save it. */
const KEPT_MS = 60_000;

/** Erases everything of a user once the id was typed; before that, it can be saved. */
export function EraseUser({ owner }: { owner: string }) {
  const t = texts.value.memory.erase;
  const [typed, setTyped] = useState("");
  const [receipt, setReceipt] = useState<EraseAnswer | null>(null);
  const { isBusy, run, note } = useAction();

  async function erase(): Promise<void> {
    setReceipt(await eraseUser(owner));
    setTyped("");
    forgetTurns(owner);
    forgetThread();
    clearConversations();
    closePanel();
  }

  async function save(): Promise<void> {
    const file = URL.createObjectURL(await (await exportUser(owner)).blob());
    const link = document.createElement("a");
    link.href = file;
    link.download = `${owner}.jsonl`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(file), KEPT_MS);
  }

  return (
    <form class="card danger-zone stack" onSubmit={submitting(() => typed === owner && run(erase))}>
      <label class="field">
        <span>{t.type(owner)}</span>
        <input type="text" dir="auto" autocomplete="off" value={typed} onInput={({ currentTarget }) => setTyped(currentTarget.value)} />
      </label>
      {note}
      {receipt && <Receipt receipt={receipt} />}
      <div class="actions start">
        <Button onClick={() => run(save)}>{t.export}</Button>
        <button type="submit" class="danger" disabled={isBusy || typed !== owner}>
          {t.go}
        </button>
      </div>
    </form>
  );
}
