import { listSections, readStatus } from "../../api/endpoints.ts";
import type { Section } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { LoadState } from "../load-state.tsx";
import { useLoaded } from "../use-loaded.ts";
import { SectionCard } from "./section-card.tsx";

const emptySection = (section: string): Section => ({ section, content: "", version: 0, updated_at: "", updated_by: "person", lines: [] });

/** The sections that the service is set up for, written or not, and what is stored of others. */
function withEmpty(stored: readonly Section[], names: readonly string[]): Section[] {
  const byName = new Map(stored.map((section) => [section.section, section]));
  const setUp = names.map((name) => byName.get(name) ?? emptySection(name));
  return [...setUp, ...stored.filter(({ section }) => !names.includes(section))];
}

/** What is true about the user, section by section. */
export function CoreMemory({ owner }: { owner: string }) {
  const loaded = useLoaded(() => listSections(owner), [owner]);
  const status = useLoaded(readStatus, []);
  return (
    <>
      <LoadState of={loaded}>
        {({ sections }) => (
          <ul class="cards sections">
            {withEmpty(sections, status.value?.core_memory_sections ?? []).map((section) => (
              <SectionCard key={section.section} owner={owner} section={section} onChange={loaded.reload} />
            ))}
          </ul>
        )}
      </LoadState>
      {status.error && (
        <ErrorNote error={status.error}>
          <button type="button" onClick={status.reload}>
            {texts.value.retry}
          </button>
        </ErrorNote>
      )}
      <button type="button" class="quiet-button" onClick={loaded.reload}>
        {texts.value.refresh}
      </button>
    </>
  );
}
