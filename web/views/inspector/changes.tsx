import { useState } from "preact/hooks";
import { toApiError, type ApiError } from "../../api/api-error.ts";
import { listOperations, removeSection, revertSection } from "../../api/endpoints.ts";
import type { Operation } from "../../api/types.ts";
import { userId } from "../../state/settings.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { LoadState } from "../load-state.tsx";
import { OperationCard } from "../memory/operation-card.tsx";
import { useLoaded } from "../use-loaded.ts";

/** Takes a change of core memory back, unless something newer was written over it. */
async function undo(owner: string, { section, version, old_value }: Operation): Promise<void> {
  if (section === null || version === null) return;
  if (old_value === null) await removeSection(owner, section, version);
  else await revertSection(owner, section, version - 1, version);
}

function Change({ operation }: { operation: Operation }) {
  const t = texts.value.inspector;
  const [state, setState] = useState<"there" | "undoing" | "undone">("there");
  const [error, setError] = useState<ApiError | null>(null);
  const canUndo = operation.section !== null && operation.version !== null && operation.refused === null;
  async function run(): Promise<void> {
    setState("undoing");
    setError(null);
    try {
      await undo(userId.value ?? "", operation);
      setState("undone");
    } catch (thrown) {
      setError(toApiError(thrown));
      setState("there");
    }
  }
  return (
    <OperationCard operation={operation}>
      {error && <ErrorNote error={error} />}
      {state === "undone" && (
        <p class="quiet" role="status">
          {t.undone}
        </p>
      )}
      {canUndo && state !== "undone" && (
        <button type="button" disabled={state === "undoing"} onClick={() => void run()}>
          {t.undo}
        </button>
      )}
    </OperationCard>
  );
}

/** What the memory agent did because of a message, each to be taken back. */
export function Changes({ triggerMessageId }: { triggerMessageId: string }) {
  const t = texts.value;
  const loaded = useLoaded(() => listOperations(userId.value ?? "", { trigger: triggerMessageId }), [triggerMessageId]);
  return (
    <section>
      <h3>{t.inspector.changes}</h3>
      <LoadState of={loaded}>
        {({ operations }) => (
          <>
            {operations.length === 0 && <p class="quiet">{t.inspector.noChanges}</p>}
            <ul class="cards">
              {operations.map((operation) => (
                <Change key={operation.id} operation={operation} />
              ))}
            </ul>
          </>
        )}
      </LoadState>
      <button type="button" class="quiet-button" onClick={loaded.reload}>
        {t.refresh}
      </button>
    </section>
  );
}
