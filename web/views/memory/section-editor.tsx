import { useEffect, useRef, useState } from "preact/hooks";
import { toApiError } from "../../api/api-error.ts";
import { listSections, putSection } from "../../api/view-endpoints.ts";
import type { Section } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { submitting, useAction } from "../loaded.tsx";

/** Characters of a section, as the service counts them. */
const LIMIT = 2_000;

interface SectionEditorProps {
  owner: string;
  section: Section;
  title: string;
  onClose: () => void;
}

/** Shows what somebody else wrote meanwhile before it is overwritten. */
export function SectionEditor({ owner, section, title, onClose }: SectionEditorProps) {
  const t = texts.value.memory.core;
  const [content, setContent] = useState(section.content);
  const [over, setOver] = useState(section.version);
  const [theirs, setTheirs] = useState<Section | null>(null);
  const { isBusy, run, note } = useAction();
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
    try {
      await putSection(owner, section.section, content, over);
      onClose();
    } catch (thrown) {
      if (toApiError(thrown).code !== "stale_version") throw thrown;
      await showTheirs();
    }
  }

  return (
    <form class="stack" onSubmit={submitting(() => run(save))}>
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
          <Button onClick={onClose}>{t.takeTheirs}</Button>
        </div>
      )}
      {note}
      <div class="actions start">
        <button type="submit" class="primary" disabled={isBusy || content.trim() === "" || used > LIMIT}>
          {theirs ? t.keepMine : t.save}
        </button>
        <Button onClick={onClose}>{texts.value.cancel}</Button>
      </div>
    </form>
  );
}
