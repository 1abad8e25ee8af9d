import { useState } from "preact/hooks";
import { eraseUser } from "../../api/view-endpoints.ts";
import type { EraseAnswer } from "../../api/types.ts";
import { clearConversations } from "../../state/conversations/conversations.ts";
import { saveExport } from "../../state/page/save-export.ts";
import { closePanel } from "../../state/page/side-panel.ts";
import { forgetThread } from "../../state/thread/thread.ts";
import { forgetTurns } from "../../state/turns/turns.ts";
import { texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { submitting, useAction } from "../loaded.tsx";
import { Receipt } from "../receipt.tsx";

/** Erases everything of a user once the id was typed. An export can come first. */
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

  return (
    <form class="card danger-zone stack" onSubmit={submitting(() => typed === owner && run(erase))}>
      <label class="field">
        <span>{t.type(owner)}</span>
        <input type="text" dir="auto" autocomplete="off" value={typed} onInput={({ currentTarget }) => setTyped(currentTarget.value)} />
      </label>
      {note}
      {receipt && <Receipt receipt={receipt} />}
      <div class="actions start">
        <Button onClick={() => run(() => saveExport(owner))}>{t.export}</Button>
        <button type="submit" class="danger" disabled={isBusy || typed !== owner}>
          {t.go}
        </button>
      </div>
    </form>
  );
}
