import { HEADING_SEPARATOR, type DocumentPart } from "./parsed-document.ts";
import { textSize } from "./text-size.ts";

type Section = Pick<DocumentPart, "heading" | "text">;

/** A section up to this share of a chunk says too little to stand alone. */
const SMALL_SHARE = 1 / 4;

/**
 * Parts under one heading (rows, pages) become one section, and small neighbours under one parent too: under the parent's heading, their
 * own above their texts. `size` is that of a chunk, in textSize.
 */
export function joinSections(parts: readonly DocumentPart[], size: number): Section[] {
  const joined: Section[] = [];
  for (const run of runsOf(joinSameHeadings(parts), size)) {
    const [first] = run;
    if (!first) continue;
    const texts = run.map(({ heading, text }) => `${lastHeading(heading)}\n\n${text}`);
    joined.push(run.length === 1 ? first : { heading: parentOf(first.heading), text: texts.join("\n\n") });
  }
  return joined;
}

/** Neighbours that go into one chunk together; most are alone. */
function runsOf(sections: readonly Section[], size: number): Section[][] {
  const runs: Section[][] = [];
  let total = 0;
  for (const section of sections) {
    const own = textSize(section.text) + textSize(lastHeading(section.heading)) + "\n\n".length * 2;
    const small = own <= size * SMALL_SHARE && section.heading !== "";
    const run = runs.at(-1);
    const before = run?.at(-1);
    if (run && before && small && total > 0 && total + own <= size && parentOf(before.heading) === parentOf(section.heading)) {
      run.push(section);
      total += own;
    } else {
      runs.push([section]);
      total = small ? own : 0;
    }
  }
  return runs;
}

function joinSameHeadings(parts: readonly DocumentPart[]): Section[] {
  const sections: { heading: string; texts: string[] }[] = [];
  for (const { heading, text } of parts) {
    const last = sections.at(-1);
    if (last?.heading === heading) last.texts.push(text);
    else sections.push({ heading, texts: [text] });
  }
  return sections.map(({ heading, texts }) => ({ heading, text: texts.join("\n\n") }));
}

function parentOf(heading: string): string {
  return heading.slice(0, Math.max(0, heading.lastIndexOf(HEADING_SEPARATOR)));
}

function lastHeading(heading: string): string {
  const at = heading.lastIndexOf(HEADING_SEPARATOR);
  return at < 0 ? heading : heading.slice(at + HEADING_SEPARATOR.length);
}
