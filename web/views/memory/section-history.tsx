import { listVersions, revertSection } from "../../api/view-endpoints.ts";
import type { Section } from "../../api/types.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { LoadState, useAction, useLoaded } from "../loaded.tsx";

interface SectionHistoryProps {
  owner: string;
  section: Section;
  onChange: () => void;
}

export function SectionHistory({ owner, section, onChange }: SectionHistoryProps) {
  const t = texts.value.memory.core;
  const loaded = useLoaded(() => listVersions(owner, section.section, null), [owner, section.section]);
  const { run, note } = useAction();

  async function revert(toVersion: number): Promise<void> {
    await revertSection(owner, section.section, toVersion, loaded.value?.versions[0]?.version ?? section.version);
    onChange();
    loaded.reload();
  }

  return (
    <div class="history">
      {note}
      <LoadState of={loaded}>
        {({ versions }) => (
          <ol class="plain-list">
            {versions.map(({ version, content, updated_by, created_at }, index) => (
              <li key={version}>
                <p class="quiet small">
                  {t.version(version)} · {t.by(updated_by)} · {showTime(created_at)}
                  {index === 0 && ` · ${t.current}`}
                </p>
                <p class="as-written" dir="auto">
                  {content ?? <em>{t.removed}</em>}
                </p>
                {index > 0 && content !== null && (
                  <button
                    type="button"
                    class="quiet-button"
                    aria-label={`${t.revert}: ${t.version(version)}`}
                    onClick={() => void run(() => revert(version))}
                  >
                    {t.revert}
                  </button>
                )}
              </li>
            ))}
          </ol>
        )}
      </LoadState>
    </div>
  );
}
