import { useState } from "preact/hooks";
import { listPassages } from "../../api/view-endpoints.ts";
import type { Document, Passage } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { LoadState, useAction, useLoaded } from "../loaded.tsx";

function PassageList({ prefix, id }: { prefix: string; id: string }) {
  const t = texts.value.documents;
  const loaded = useLoaded(() => listPassages(prefix, id, null), [prefix, id]);
  const [further, setFurther] = useState<{ passages: readonly Passage[]; next: string | null } | null>(null);
  const { run, note } = useAction();
  const next = further ? further.next : (loaded.value?.next ?? null);
  async function more(): Promise<void> {
    const page = await listPassages(prefix, id, next);
    setFurther({ passages: [...(further?.passages ?? []), ...page.passages], next: page.next });
  }
  return (
    <LoadState of={loaded}>
      {({ passages }) => (
        <>
          <ol class="cards">
            {[...passages, ...(further?.passages ?? [])].map(({ id: passageId, heading, text, position }) => (
              <li key={passageId} data-passage={passageId}>
                <p class="quiet small" dir="auto">
                  {t.place(position + 1)}
                  {heading !== "" && ` · ${heading}`}
                </p>
                <blockquote class="as-written" dir="auto">
                  {text}
                </blockquote>
              </li>
            ))}
          </ol>
          {note}
          {next !== null && <Button onClick={() => run(more)}>{texts.value.more}</Button>}
        </>
      )}
    </LoadState>
  );
}

export function DocumentPassages({ prefix, document: { id, chunk_count: count } }: { prefix: string; document: Document }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{texts.value.documents.passages(count)}</summary>
      {isOpen && <PassageList prefix={prefix} id={id} />}
    </details>
  );
}
