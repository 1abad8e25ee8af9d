import { useState } from "preact/hooks";
import { toApiError, type ApiError } from "../../api/api-error.ts";
import { eraseUser } from "../../api/endpoints.ts";
import type { EraseAnswer } from "../../api/types.ts";
import { clearConversations } from "../../state/conversations.ts";
import { inspected } from "../../state/inspected.ts";
import { forgetThread } from "../../state/thread.ts";
import { forgetTurns } from "../../state/turns.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { Receipt } from "../receipt.tsx";

/** Erases everything of a user, once its id was typed, and shows what that was. */
export function EraseUser({ owner }: { owner: string }) {
  const t = texts.value.memory.erase;
  const [typed, setTyped] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [receipt, setReceipt] = useState<EraseAnswer | null>(null);
  const [error, setError] = useState<ApiError | null>(null);

  async function erase(): Promise<void> {
    setIsBusy(true);
    setError(null);
    try {
      setReceipt(await eraseUser(owner));
      setTyped("");
      forgetTurns(owner);
      forgetThread();
      clearConversations();
      inspected.value = null;
    } catch (thrown) {
      setError(toApiError(thrown));
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <form
      class="card danger-zone stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed === owner) void erase();
      }}
    >
      <label class="field">
        <span>{t.type(owner)}</span>
        <input type="text" dir="auto" autocomplete="off" value={typed} onInput={({ currentTarget }) => setTyped(currentTarget.value)} />
      </label>
      {error && <ErrorNote error={error} />}
      {receipt && <Receipt receipt={receipt} />}
      <div class="actions start">
        <button type="submit" class="danger" disabled={isBusy || typed !== owner}>
          {t.go}
        </button>
      </div>
    </form>
  );
}
