import { listSections } from "../../api/endpoints.ts";
import type { Section } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { LoadState } from "../load-state.tsx";
import { useLoaded } from "../use-loaded.ts";
import { SectionCard } from "./section-card.tsx";

/** The sections everybody has; a service may have more, which are shown once they are written. */
const STANDARD = ["profile", "preferences", "goals", "relationships", "constraints"];

const emptySection = (section: string): Section => ({ section, content: "", version: 0, updated_at: "", updated_by: "" });

function withEmpty(stored: readonly Section[]): Section[] {
  const byName = new Map(stored.map((section) => [section.section, section]));
  const standard = STANDARD.map((name) => byName.get(name) ?? emptySection(name));
  return [...standard, ...stored.filter(({ section }) => !STANDARD.includes(section))];
}

/** What is true about the user, section by section. */
export function CoreMemory({ owner }: { owner: string }) {
  const loaded = useLoaded(() => listSections(owner), [owner]);
  return (
    <>
      <LoadState of={loaded}>
        {({ sections }) => (
          <ul class="cards sections">
            {withEmpty(sections).map((section) => (
              <SectionCard key={section.section} owner={owner} section={section} onChange={loaded.reload} />
            ))}
          </ul>
        )}
      </LoadState>
      <button type="button" class="quiet-button" onClick={loaded.reload}>
        {texts.value.refresh}
      </button>
    </>
  );
}
