import { parseDocument } from "../../../memory/parsing/parse-document.ts";
import type { DocumentLimits, ParsedDocument } from "../../../memory/parsing/document.ts";

export const PDF = "application/pdf";
export const DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/** Parses this content as a document of the title "sample". */
export async function parseSample(
  contentType: string,
  content: string | Uint8Array,
  limits?: Partial<DocumentLimits>,
): Promise<ParsedDocument> {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  return parseDocument({ bytes, contentType, title: "sample" }, new AbortController().signal, limits);
}
