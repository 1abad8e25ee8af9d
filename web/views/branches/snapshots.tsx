import { useState } from "preact/hooks";
import { addSnapshot, removeSnapshot, restoreSnapshot } from "../../api/view-endpoints.ts";
import type { Snapshot } from "../../api/types.ts";
import { showActiveBranch } from "../../state/thread/rewrite.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";
import { submitting, useAction } from "../loaded.tsx";

const MAX_LABEL = 200;

interface SnapshotsProps {
  conversationId: string;
  all: readonly Snapshot[];
  onChange: () => void;
}

export function Snapshots({ conversationId, all, onChange }: SnapshotsProps) {
  const t = texts.value.branches;
  const [label, setLabel] = useState("");
  const { isBusy, run, note } = useAction();
  const add = () =>
    run(async () => {
      if (label.trim() === "") return;
      await addSnapshot(conversationId, label.trim());
      setLabel("");
      onChange();
    });
  const remove = (id: string) =>
    run(async () => {
      await removeSnapshot(conversationId, id);
      onChange();
    });
  const restore = (id: string) =>
    run(async () => {
      await restoreSnapshot(conversationId, id);
      await showActiveBranch();
      onChange();
    });
  return (
    <section class="stack snapshots" aria-label={t.snapshots}>
      <h3>{t.snapshots}</h3>
      <p class="quiet small">{t.snapshotsExplain}</p>
      <form class="rate-why" onSubmit={submitting(add)}>
        <input
          type="text"
          dir="auto"
          aria-label={t.label}
          placeholder={t.label}
          maxLength={MAX_LABEL}
          value={label}
          onInput={({ currentTarget }) => setLabel(currentTarget.value)}
        />
        <button type="submit" disabled={isBusy || label.trim() === ""}>
          {t.keep}
        </button>
      </form>
      {note}
      <ul class="plain-list">
        {all.map(({ id, label: name, created_at }) => (
          <li key={id} class="branch">
            <strong dir="auto">{name}</strong>
            <p class="quiet small">{showTime(created_at)}</p>
            <div class="actions start">
              <QuietButton onClick={() => restore(id)}>{t.restore}</QuietButton>
              <QuietButton onClick={() => remove(id)}>{t.forget}</QuietButton>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
