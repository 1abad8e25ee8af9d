import { useRef, useState } from "preact/hooks";
import { toApiError, type ApiError } from "../../api/api-error.ts";
import { addFile } from "../../api/view-endpoints.ts";
import { ACCEPTED, typeOf } from "./document-types.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";

interface Refused {
  name: string;
  error: ApiError;
}

export function DropZone({ prefix, onAdded }: { prefix: string; onAdded: () => void }) {
  const t = texts.value.documents;
  const [isOver, setIsOver] = useState(false);
  const [sending, setSending] = useState<readonly string[]>([]);
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  const input = useRef<HTMLInputElement>(null);

  async function add(files: readonly File[]): Promise<void> {
    setSending((before) => [...before, ...files.map(({ name }) => name)]);
    setRefused([]);
    for (const file of files) {
      try {
        await addFile(prefix, file, typeOf(file));
        onAdded();
      } catch (thrown) {
        setRefused((before) => [...before, { name: file.name, error: toApiError(thrown) }]);
      }
      setSending(([, ...others]) => others);
    }
  }
  function take(files: FileList | null | undefined): void {
    if (files && files.length > 0) void add([...files]);
  }

  return (
    <div
      class={`drop-zone${isOver ? " is-over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        take(event.dataTransfer?.files);
      }}
    >
      <label class="field">
        <span>{t.drop}</span>
        <input
          type="file"
          multiple
          accept={ACCEPTED}
          ref={input}
          onChange={({ currentTarget }) => {
            take(currentTarget.files);
            currentTarget.value = "";
          }}
        />
      </label>
      {sending.length > 0 && (
        <div role="status">
          <progress aria-label={t.sending} />
          <p class="quiet small" dir="auto">
            {t.sending} {sending[0]} {sending.length > 1 && t.further(sending.length - 1)}
          </p>
        </div>
      )}
      {refused.map(({ name, error }) => (
        <ErrorNote key={name} error={error} title={name} />
      ))}
    </div>
  );
}
