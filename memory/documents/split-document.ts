import { setImmediate } from "node:timers/promises";
import { DocumentSplitter } from "./document-splitter.ts";
import { joinSections } from "./join-sections.ts";
import type { DocumentPart } from "./parsed-document.ts";
import { textStretches } from "./text-stretches.ts";

/** What is embedded and found: a piece of a document that can be read by itself. */
export interface Chunk {
  /** In the document, from 0. */
  position: number;
  /** The path of headings above it, not repeated in the text; "" when there are none. */
  heading: string;
  text: string;
}

/** In characters, of which Chinese ones count twice (see textSize): about 1,200 characters of English, 600 of Chinese. */
const SIZE = 1_200;
const OVERLAP = 120;

/**
 * Cuts a document into chunks, of which no word is missing. A document of millions of characters takes a second or more, in which other
 * work of the process gets its turns.
 */
export async function splitDocument(
  parts: readonly DocumentPart[],
  { size = SIZE, overlap = OVERLAP }: { size?: number; overlap?: number } = {},
): Promise<Chunk[]> {
  const splitter = new DocumentSplitter({ size, overlap });
  const chunks: Chunk[] = [];
  let sinceTurn = 0;
  for (const { heading, text } of joinSections(parts, size)) {
    for (const stretch of textStretches(text)) {
      for (const piece of await splitter.splitText(stretch)) chunks.push({ position: chunks.length, heading, text: piece });
      sinceTurn += stretch.length;
      if (sinceTurn < 10_000) continue;
      sinceTurn = 0;
      await setImmediate();
    }
  }
  return chunks;
}
