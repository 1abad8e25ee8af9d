import { MIMEType } from "node:util";
import { AppError } from "../../errors/app-error.ts";

const MIB = 2 ** 20;

/** What one document may cost. Somebody will try to exceed each of these. */
export interface DocumentLimits {
  /** Of the file as uploaded. */
  bytes: number;
  /** Of a PDF. */
  pages: number;
  /** Of the XML in a DOCX when it is unzipped. */
  expandedBytes: number;
  /** Of the text and headings that are read, in UTF-16 units. */
  characters: number;
  /** Of the worker, in milliseconds. */
  timeoutMs: number;
  /** Of the worker's heap and buffers. */
  memoryBytes: number;
}

export const DOCUMENT_LIMITS: DocumentLimits = {
  bytes: 20 * MIB,
  pages: 2_000,
  expandedBytes: 64 * MIB,
  characters: 5_000_000,
  timeoutMs: 30_000,
  memoryBytes: 768 * MIB,
};

/** A section of a document, a page of a PDF or a row of a CSV file. */
export interface DocumentPart {
  /** The headings above it, outermost first, joined with HEADING_SEPARATOR; "" when there are none. */
  heading: string;
  /** Plain text, or Markdown where the document had tables, lists or code. Without the heading. */
  text: string;
  /** Of a PDF, from 1. */
  page?: number;
}

/** The parts of a document in their order. */
export type ParsedDocument = DocumentPart[];

export const HEADING_SEPARATOR = " > ";

/** The media types that can be read, with their names for people. */
export const DOCUMENT_TYPES = {
  "text/plain": "plain text",
  "text/markdown": "Markdown",
  "text/html": "HTML",
  "text/csv": "CSV",
  "application/pdf": "PDF",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "DOCX",
} as const;

export type DocumentType = keyof typeof DOCUMENT_TYPES;

/** Parses a content type; `charset` is null when it names none. Throws AppError `unsupported_media_type` for a type that cannot be read. */
export function readContentType(contentType: string): { type: DocumentType; charset: string | null } {
  const parsed = parseMediaType(contentType);
  const type = parsed?.essence;
  if (parsed && type !== undefined && isDocumentType(type)) return { type, charset: parsed.params.get("charset") };
  const supported = Object.entries(DOCUMENT_TYPES).map(([name, called]) => `${name} (${called})`);
  const shown = JSON.stringify(contentType.slice(0, 100));
  throw new AppError("unsupported_media_type", `Documents of type ${shown} cannot be read. Send one of: ${supported.join(", ")}.`);
}

const isDocumentType = (type: string): type is DocumentType => Object.hasOwn(DOCUMENT_TYPES, type);

function parseMediaType(contentType: string): MIMEType | null {
  try {
    return new MIMEType(contentType);
  } catch {
    return null;
  }
}

/** What is wrong with a document, for its author. The worker throws it; parseDocument makes an AppError of it. */
export class UnreadableReason extends Error {
  override readonly name = "UnreadableReason";
}

/** The error of a document that cannot be read. `reason` continues "cannot be read: " and says what to do. */
export function unreadable(reason: string, { title, cause }: { title?: string; cause?: unknown } = {}): AppError {
  const name = title === undefined ? "The document" : `The document ${JSON.stringify(title.slice(0, 200).toWellFormed())}`;
  return new AppError("document_unreadable", `${name} cannot be read: ${reason}`, cause === undefined ? {} : { cause });
}

/** A heading of `level` 1 to 6 and the text up to the next one. Before the first heading: level 0 and "". */
export interface Section {
  level: number;
  heading: string;
  text: string;
}

/** Every chunk has the path of its headings, and in broken files a "heading" may have the length of a page. */
const MAX_HEADING = 200;

/** Turns sections into parts with the path of their headings. No word of a heading is lost. */
export function buildSections(sections: readonly Section[]): DocumentPart[] {
  const parts: DocumentPart[] = [];
  let above: { level: number; heading: string }[] = [];
  for (const [index, section] of sections.entries()) {
    const heading = section.heading.replaceAll(/\s+/g, " ").trim();
    const parents = heading === "" ? above : above.filter(({ level }) => level < section.level);
    const cut = Array.from(heading.slice(0, MAX_HEADING * 2))
      .slice(0, MAX_HEADING)
      .join("")
      .toWellFormed();
    const text = (cut === heading ? section.text : `${heading}\n\n${section.text}`).replace(/^(?:[^\S\n]*\n)+/, "").trimEnd();
    above = heading === "" ? parents : [...parents, { level: section.level, heading: cut }];
    const next = sections[index + 1];
    const hasSubsection = next !== undefined && next.level > section.level;
    if (text !== "") parts.push({ heading: pathOf(above), text });
    else if (heading !== "" && !hasSubsection) parts.push({ heading: pathOf(parents), text: heading });
  }
  return parts;
}

const pathOf = (headings: readonly { heading: string }[]): string => headings.map(({ heading }) => heading).join(HEADING_SEPARATOR);
