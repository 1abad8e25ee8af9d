import { readStatus } from "../../api/endpoints.ts";
import { listSections } from "../../api/view-endpoints.ts";
import type { Section } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";
import { LoadState, RetryNote, useLoaded } from "../loaded.tsx";
import { SectionCard } from "./section-card.tsx";

const emptySection = (section: string): Section => ({ section, content: "", version: 0, updated_at: "", updated_by: "person", lines: [] });

/** The sections of the service's settings, written or not, then other stored ones. */
function withEmpty(stored: readonly Section[], names: readonly string[]): Section[] {
  const byName = new Map(stored.map((section) => [section.section, section]));
  const setUp = names.map((name) => byName.get(name) ?? emptySection(name));
  return [...setUp, ...stored.filter(({ section }) => !names.includes(section))];
}

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
      {status.error && <RetryNote error={status.error} onRetry={status.reload} />}
      <QuietButton onClick={loaded.reload}>{texts.value.refresh}</QuietButton>
    </>
  );
}
