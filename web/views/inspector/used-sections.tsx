import { listSections } from "../../api/view-endpoints.ts";
import type { Receipt, Section } from "../../api/types.ts";
import { userId } from "../../state/page/settings.ts";
import { texts } from "../../texts/texts.ts";
import { useLoaded } from "../loaded.tsx";

type UsedSection = Receipt["core_memory"][number];

function Used({ used: { section, version }, now }: { used: UsedSection; now: Section | undefined }) {
  const t = texts.value;
  return (
    <li class="card">
      <p class="card-head">
        <strong>{t.memory.core.sections[section] ?? section}</strong>
        <span class="quiet small">{t.memory.core.version(version)}</span>
      </p>
      {now && (
        <p class="as-written" dir="auto">
          {now.version === version ? now.content : <span class="quiet">{t.inspector.sectionChanged}</span>}
        </p>
      )}
    </li>
  );
}

export function UsedSections({ receipt: { core_memory: sections }, isAway }: { receipt: Receipt; isAway: boolean }) {
  const t = texts.value.inspector;
  const owner = userId.value ?? "";
  const isEmpty = sections.length === 0;
  const { value } = useLoaded(() => (isEmpty ? Promise.resolve(null) : listSections(owner)), [owner, isEmpty]);
  return (
    <section>
      <h3>{t.sections}</h3>
      {isEmpty && <p class="quiet">{isAway ? t.unavailable : t.noSections}</p>}
      <ul class="cards">
        {sections.map((used) => (
          <Used key={used.section} used={used} now={value?.sections.find(({ section }) => section === used.section)} />
        ))}
      </ul>
    </section>
  );
}
