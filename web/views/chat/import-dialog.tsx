import { useEffect, useRef, useState } from "preact/hooks";
import { loadConversations } from "../../state/conversations/conversations.ts";
import { ImportProblem, runImport, type ImportProgress } from "../../state/conversations/run-import.ts";
import { chatAddress, goTo } from "../../state/page/route.ts";
import { texts } from "../../texts/texts.ts";
import { PrimaryButton } from "../button.tsx";
import { toApiError } from "../../api/api-error.ts";
import type { ErrorContent, ImportResult } from "../../api/types.ts";
import { ErrorNote } from "../error-note.tsx";
import { submitting } from "../loaded.tsx";
import { Modal } from "../modal.tsx";

type State =
  | { at: "choosing"; problem?: Omit<ErrorContent, "retryable"> }
  | { at: "working"; progress: ImportProgress | null }
  | { at: "done"; result: ImportResult };

const problemOf = (error: unknown): Omit<ErrorContent, "retryable"> => {
  if (error instanceof ImportProblem) return { code: error.code, message: texts.value.import[error.code] };
  const { code, message } = toApiError(error);
  return { code, message };
};

export function ImportDialog({ onClose, onOpen }: { onClose: () => void; onOpen: () => void }) {
  const t = texts.value.import;
  const [state, setState] = useState<State>({ at: "choosing" });
  const [session, setSession] = useState("");
  const file = useRef<HTMLInputElement>(null);
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);

  async function submit(): Promise<void> {
    const chosen = file.current?.files?.[0];
    if (!chosen) return;
    setState({ at: "working", progress: null });
    try {
      const onProgress = (progress: ImportProgress): void => setState({ at: "working", progress });
      const result = await runImport(await chosen.text(), session.trim(), { onProgress, signal: leaving.current.signal });
      setState({ at: "done", result });
      await loadConversations();
    } catch (error) {
      if (!leaving.current.signal.aborted) setState({ at: "choosing", problem: problemOf(error) });
    }
  }

  function open(conversationId: string): void {
    onClose();
    onOpen();
    goTo(chatAddress(conversationId));
  }

  return (
    <Modal title={t.title} onClose={onClose}>
      <form onSubmit={submitting(submit)} class="stack">
        <p class="quiet">{t.explain}</p>
        <label class="field">
          <span>{t.file}</span>
          <input
            type="file"
            accept="application/json,.json"
            required
            ref={file}
            onChange={() => setSession((before) => before || (file.current?.files?.[0]?.name.replace(/\.json$/i, "").slice(0, 200) ?? ""))}
          />
        </label>
        <label class="field">
          <span>{t.session}</span>
          <input
            type="text"
            dir="auto"
            required
            maxLength={200}
            value={session}
            onInput={({ currentTarget }) => setSession(currentTarget.value)}
          />
        </label>
        {state.at === "choosing" && state.problem && <ErrorNote error={state.problem} />}
        {state.at === "working" && (
          <div class="stack" role="status">
            <progress aria-label={t.title} {...(state.progress ? { value: state.progress.done, max: state.progress.total } : {})} />
            <p class="quiet">{state.progress ? t.working(state.progress.done, state.progress.total) : t.sending}</p>
          </div>
        )}
        {state.at === "done" ? (
          <div class="note success" role="status">
            <p>{t.result(state.result.imported, state.result.skipped)}</p>
            <PrimaryButton onClick={() => open(state.result.conversation_id)}>{t.open}</PrimaryButton>
          </div>
        ) : (
          <div class="actions">
            <button type="submit" class="primary" disabled={state.at === "working"}>
              {t.go}
            </button>
          </div>
        )}
      </form>
    </Modal>
  );
}
