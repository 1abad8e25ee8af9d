import { useState } from "preact/hooks";
import { toApiError, type ApiError } from "../../api/api-error.ts";
import { listOperations } from "../../api/endpoints.ts";
import type { Operation } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { LoadState } from "../load-state.tsx";
import { useLoaded } from "../use-loaded.ts";
import { OperationCard } from "./operation-card.tsx";

/** What was done to the memory of a user. */
export function OperationList({ owner }: { owner: string }) {
  const t = texts.value.memory.changes;
  const loaded = useLoaded(() => listOperations(owner, {}), [owner]);
  const [older, setOlder] = useState<{ operations: Operation[]; next: string | null } | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const next = older ? older.next : (loaded.value?.next ?? null);

  async function more(): Promise<void> {
    try {
      const page = await listOperations(owner, { after: next });
      setOlder({ operations: [...(older?.operations ?? []), ...page.operations], next: page.next });
      setError(null);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  }

  return (
    <>
      <LoadState of={loaded}>
        {({ operations }) => (
          <>
            {operations.length === 0 && <p class="quiet">{t.none}</p>}
            <ol class="cards">
              {[...operations, ...(older?.operations ?? [])].map((operation) => (
                <OperationCard key={operation.id} operation={operation} />
              ))}
            </ol>
          </>
        )}
      </LoadState>
      {error && <ErrorNote error={error} />}
      {next !== null && (
        <button type="button" onClick={() => void more()}>
          {texts.value.more}
        </button>
      )}
    </>
  );
}
