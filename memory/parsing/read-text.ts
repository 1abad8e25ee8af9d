import type { DocumentPart } from "./document.ts";

/** Plain text has no structure that can be relied on: one part, and the splitter looks for paragraphs. */
export function readText(text: string): DocumentPart[] {
  return [{ heading: "", text }];
}
