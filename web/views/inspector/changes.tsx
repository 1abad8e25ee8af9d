import { useState } from "preact/hooks";
import { listOperations, removeSection, revertSection } from "../../api/view-endpoints.ts";
import type { Operation } from "../../api/types.ts";
import { userId } from "../../state/page/settings.ts";
import { texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";
import { LoadState, useAction, useLoaded } from "../loaded.tsx";
import { OperationCard } from "../memory/operation-card.tsx";

/** Takes a change back, unless something newer was written over it. */
async function undo(owner: string, { section, version, old_value }: Operation): Promise<void> {
  if (section === null || version === null) return;
  if (old_value === null) await removeSection(owner, section, version);
  else await revertSection(owner, section, version - 1, version);
}

function Change({ operation }: { operation: Operation }) {
  const t = texts.value.inspector;
  const [isUndone, setIsUndone] = useState(false);
  const { isBusy, run, note } = useAction();
  const canUndo = operation.section !== null && operation.version !== null && operation.refused === null;
  const takeBack = () => run(() => undo(userId.value ?? "", operation).then(() => setIsUndone(true)));
  return (
    <OperationCard operation={operation}>
      {note}
      {isUndone && (
        <p class="quiet" role="status">
          {t.undone}
        </p>
      )}
      {canUndo && !isUndone && (
        <button type="button" disabled={isBusy} onClick={() => void takeBack()}>
          {t.undo}
        </button>
      )}
    </OperationCard>
  );
}

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
      <QuietButton onClick={loaded.reload}>{t.refresh}</QuietButton>
    </section>
  );
}
