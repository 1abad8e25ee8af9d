import { useEffect, useRef, useState } from "preact/hooks";
import { toApiError, type ApiError } from "../../api/api-error.ts";
import { listSections, putSection } from "../../api/endpoints.ts";
import type { Section } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";

/** Characters of a section, as the service counts them. */
const LIMIT = 2_000;

interface SectionEditorProps {
  owner: string;
  section: Section;
  title: string;
  onClose: () => void;
}

/** Edits a section. What somebody else wrote meanwhile is shown, and only overwritten when that is asked for. */
export function SectionEditor({ owner, section, title, onClose }: SectionEditorProps) {
  const t = texts.value.memory.core;
  const [content, setContent] = useState(section.content);
  const [over, setOver] = useState(section.version);
  const [theirs, setTheirs] = useState<Section | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isSaving, setIsSaving] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const used = [...content].length;
  useEffect(() => field.current?.focus(), []);

  async function showTheirs(): Promise<void> {
    const { sections } = await listSections(owner);
    const now = sections.find(({ section: name }) => name === section.section) ?? { ...section, content: "", version: 0 };
    setTheirs(now);
    setOver(now.version);
  }

  async function save(): Promise<void> {
    setIsSaving(true);
    setError(null);
    try {
      await putSection(owner, section.section, content, over);
      onClose();
    } catch (thrown) {
      const problem = toApiError(thrown);
      if (problem.code === "stale_version") await showTheirs().catch((failure: unknown) => setError(toApiError(failure)));
      else setError(problem);
      setIsSaving(false);
    }
  }

  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <textarea
        ref={field}
        class="section-text"
        rows={5}
        dir="auto"
        aria-label={t.label(title)}
        value={content}
        onInput={({ currentTarget }) => setContent(currentTarget.value)}
      />
      <p class={used > LIMIT ? "problem small" : "quiet small"}>{t.left(used, LIMIT)}</p>
      {theirs && (
        <div class="note warning stale" role="alert">
          <p>{t.stale}</p>
          <blockquote class="as-written" dir="auto">
            {theirs.version === 0 ? t.removed : theirs.content}
          </blockquote>
          <button type="button" onClick={onClose}>
            {t.takeTheirs}
          </button>
        </div>
      )}
      {error && <ErrorNote error={error} />}
      <div class="actions start">
        <button type="submit" class="primary" disabled={isSaving || content.trim() === "" || used > LIMIT}>
          {theirs ? t.keepMine : t.save}
        </button>
        <button type="button" onClick={onClose}>
          {texts.value.cancel}
        </button>
      </div>
    </form>
  );
}
