import { useState } from "preact/hooks";
import { removeSection } from "../../api/view-endpoints.ts";
import type { Section } from "../../api/types.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { useAction } from "../loaded.tsx";
import { SectionEditor } from "./section-editor.tsx";
import { SectionHistory } from "./section-history.tsx";

interface SectionCardProps {
  owner: string;
  section: Section;
  onChange: () => void;
}

export function SectionCard({ owner, section, onChange }: SectionCardProps) {
  const t = texts.value.memory.core;
  const [isEditing, setIsEditing] = useState(false);
  const [showsHistory, setShowsHistory] = useState(false);
  const { run, note } = useAction();
  const { section: name, content, version, updated_by, updated_at } = section;
  const title = t.sections[name] ?? name;
  const isThere = version > 0;

  async function remove(): Promise<void> {
    await run(() => removeSection(owner, name, version).then(() => undefined));
    onChange();
  }
  function closeEditor(): void {
    setIsEditing(false);
    onChange();
  }

  return (
    <li class="card section" data-section={name}>
      <header class="card-head">
        <h2>{title}</h2>
        {isThere && (
          <span class="quiet small">
            {t.version(version)} · {t.by(updated_by)} · {showTime(updated_at)}
          </span>
        )}
      </header>
      {isEditing ? (
        <SectionEditor owner={owner} section={section} title={title} onClose={closeEditor} />
      ) : (
        <p class={`as-written${isThere ? "" : " quiet"}`} dir="auto">
          {isThere ? content : t.empty}
        </p>
      )}
      {note}
      {!isEditing && (
        <div class="actions start">
          <button type="button" aria-label={`${t.edit}: ${title}`} onClick={() => setIsEditing(true)}>
            {t.edit}
          </button>
          <button
            type="button"
            class="quiet-button"
            aria-label={`${t.history}: ${title}`}
            aria-expanded={showsHistory}
            onClick={() => setShowsHistory(!showsHistory)}
          >
            {t.history}
          </button>
          {isThere && (
            <button type="button" class="quiet-button" aria-label={`${t.remove}: ${title}`} onClick={() => void remove()}>
              {t.remove}
            </button>
          )}
        </div>
      )}
      {showsHistory && <SectionHistory key={version} owner={owner} section={section} onChange={onChange} />}
    </li>
  );
}
