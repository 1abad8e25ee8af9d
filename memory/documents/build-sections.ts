import { HEADING_SEPARATOR, type DocumentPart } from "./parsed-document.ts";

/** A heading, `level` 1 to 6, and the text up to the next one; level 0 and "" for what precedes the first heading. */
export interface Section {
  level: number;
  heading: string;
  text: string;
}

/** The path is kept with every chunk, so a "heading" of a page's length, as broken files have, must not be in it whole. */
const HEADING_CHARACTERS = 200;

/** Sections in the order of the document as parts with the path of their headings. No word of a heading is lost. */
export function buildSections(sections: readonly Section[]): DocumentPart[] {
  const parts: DocumentPart[] = [];
  let above: { level: number; heading: string }[] = [];
  for (const [index, section] of sections.entries()) {
    const heading = section.heading.replaceAll(/\s+/g, " ").trim();
    const parents = heading === "" ? above : above.filter(({ level }) => level < section.level);
    const cut = Array.from(heading.slice(0, HEADING_CHARACTERS * 2))
      .slice(0, HEADING_CHARACTERS)
      .join("")
      .toWellFormed();
    const text = (cut === heading ? section.text : `${heading}\n\n${section.text}`).replace(/^(?:[^\S\n]*\n)+/, "").trimEnd();
    above = heading === "" ? parents : [...parents, { level: section.level, heading: cut }];
    const next = sections[index + 1];
    const isInAPath = next !== undefined && next.level > section.level;
    if (text !== "") parts.push({ heading: pathOf(above), text });
    else if (heading !== "" && !isInAPath) parts.push({ heading: pathOf(parents), text: heading });
  }
  return parts;
}

const pathOf = (headings: readonly { heading: string }[]): string => headings.map(({ heading }) => heading).join(HEADING_SEPARATOR);
