import { useState } from "preact/hooks";
import { listOperations } from "../../api/view-endpoints.ts";
import type { Operation } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { LoadState, useAction, useLoaded } from "../loaded.tsx";
import { OperationCard } from "./operation-card.tsx";

export function OperationList({ owner }: { owner: string }) {
  const t = texts.value.memory.changes;
  const loaded = useLoaded(() => listOperations(owner, {}), [owner]);
  const [older, setOlder] = useState<{ operations: Operation[]; next: string | null } | null>(null);
  const { run, note } = useAction();
  const next = older ? older.next : (loaded.value?.next ?? null);

  async function more(): Promise<void> {
    const page = await listOperations(owner, { after: next });
    setOlder({ operations: [...(older?.operations ?? []), ...page.operations], next: page.next });
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
      {note}
      {next !== null && <Button onClick={() => run(more)}>{texts.value.more}</Button>}
    </>
  );
}
