import { texts } from "../../texts/texts.ts";

interface Citation {
  number: number;
  passage_id: string;
  title: string;
  heading: string;
}

/** An imported message may have any metadata. */
const isCitation = (value: unknown): value is Citation => {
  const { number, title, heading } = (value ?? {}) as Partial<Record<keyof Citation, unknown>>;
  return typeof number === "number" && typeof title === "string" && typeof heading === "string";
};

/** What a stored answer cites, as its metadata keeps it. */
export function Sources({ citations }: { citations: unknown }) {
  const known = Array.isArray(citations) ? citations.filter(isCitation) : [];
  if (known.length === 0) return null;
  return (
    <details class="quiet small">
      <summary>{texts.value.chat.sources}</summary>
      <ul class="plain-list">
        {known.map(({ number, passage_id: id, title, heading }) => (
          <li key={`${number} ${id}`} dir="auto">
            [{number}] {heading === "" ? title : `${title} > ${heading}`}
          </li>
        ))}
      </ul>
    </details>
  );
}
