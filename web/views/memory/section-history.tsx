import { useState } from "preact/hooks";
import { toApiError, type ApiError } from "../../api/api-error.ts";
import { listVersions, revertSection } from "../../api/endpoints.ts";
import type { Section } from "../../api/types.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { LoadState } from "../load-state.tsx";
import { useLoaded } from "../use-loaded.ts";

interface SectionHistoryProps {
  owner: string;
  section: Section;
  onChange: () => void;
}

/** The latest versions of a section, newest first, each to go back to. */
export function SectionHistory({ owner, section, onChange }: SectionHistoryProps) {
  const t = texts.value.memory.core;
  const loaded = useLoaded(() => listVersions(owner, section.section, null), [owner, section.section]);
  const [error, setError] = useState<ApiError | null>(null);

  async function revert(toVersion: number): Promise<void> {
    setError(null);
    try {
      await revertSection(owner, section.section, toVersion, loaded.value?.versions[0]?.version ?? section.version);
      onChange();
      loaded.reload();
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  }

  return (
    <div class="history">
      {error && <ErrorNote error={error} />}
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
                    onClick={() => void revert(version)}
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
