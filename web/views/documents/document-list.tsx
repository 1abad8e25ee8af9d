import { useEffect, useState } from "preact/hooks";
import { listDocuments, readDocumentAgain, removeDocument } from "../../api/view-endpoints.ts";
import type { Document } from "../../api/types.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { Button, QuietButton } from "../button.tsx";
import { Confirm } from "../confirm.tsx";
import { LoadState, useAction, useLoaded } from "../loaded.tsx";
import { DocumentPassages } from "./document-passages.tsx";
import { DropZone } from "./drop-zone.tsx";

const LOOK_AGAIN_MS = 1_500;
/** While the service is away. */
const TRY_AGAIN_MS = 4_000;

type DocumentRowParts = { prefix: string; document: Document } & Record<"onDelete" | "onReadAgain", () => unknown>;

function DocumentRow({ prefix, document, onDelete, onReadAgain }: DocumentRowParts) {
  const t = texts.value.documents;
  const { title, status, error, created_at } = document;
  return (
    <li class="card" data-document={title}>
      <p class="card-head">
        <strong dir="auto">{title}</strong>
        <span class={`badge document-${status}`}>{t.states[status]}</span>
        <span class="quiet small">{showTime(created_at)}</span>
      </p>
      {error !== null && (
        <p class="note error" dir="auto">
          {error}
        </p>
      )}
      {status === "indexed" && <DocumentPassages prefix={prefix} document={document} />}
      <div class="actions start">
        {document.can_read_again && <QuietButton onClick={onReadAgain}>{t.readAgain}</QuietButton>}
        <QuietButton onClick={onDelete}>{t.remove}</QuietButton>
      </div>
    </li>
  );
}

export function DocumentList({ prefix }: { prefix: string }) {
  const t = texts.value.documents;
  const loaded = useLoaded(() => listDocuments(prefix, null), [prefix]);
  const [older, setOlder] = useState<{ documents: Document[]; next: string | null } | null>(null);
  const [deleting, setDeleting] = useState<Document | null>(null);
  const { run, note } = useAction();
  const next = older ? older.next : (loaded.value?.next ?? null);
  const isReading = loaded.value?.documents.some(({ status }) => status === "pending") ?? false;
  const isAway = loaded.error?.retryable ?? false;
  useEffect(() => {
    if (loaded.isLoading || !(isReading || isAway)) return undefined;
    const timer = setTimeout(loaded.reload, isAway ? TRY_AGAIN_MS : LOOK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [isReading, isAway, loaded.isLoading]);

  async function more(): Promise<void> {
    const page = await listDocuments(prefix, next);
    setOlder({ documents: [...(older?.documents ?? []), ...page.documents], next: page.next });
  }
  async function change(document: Document, ask: typeof removeDocument | typeof readDocumentAgain): Promise<void> {
    await ask(prefix, document.id);
    setDeleting(null);
    setOlder(null);
    loaded.reload();
  }

  return (
    <section class="stack" aria-label={`${t.documents}: ${prefix}`}>
      <DropZone prefix={prefix} onAdded={loaded.reload} />
      <LoadState of={loaded}>
        {({ documents }) => (
          <>
            {documents.length === 0 && <p class="quiet">{t.none}</p>}
            <ul class="cards">
              {[...documents, ...(older?.documents ?? [])].map((document) => (
                <DocumentRow
                  key={document.id}
                  prefix={prefix}
                  document={document}
                  onDelete={() => setDeleting(document)}
                  onReadAgain={() => run(() => change(document, readDocumentAgain))}
                />
              ))}
            </ul>
          </>
        )}
      </LoadState>
      {note}
      {next !== null && <Button onClick={() => run(more)}>{texts.value.more}</Button>}
      {deleting && (
        <Confirm
          title={t.removeAsk(deleting.title)}
          go={t.remove}
          action={() => change(deleting, removeDocument)}
          onClose={() => setDeleting(null)}
        >
          {t.removeExplain}
        </Confirm>
      )}
    </section>
  );
}
