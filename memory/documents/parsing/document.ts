import { MIMEType } from "node:util";
import { AppError } from "../../../errors/app-error.ts";

const MIB = 2 ** 20;

export interface DocumentLimits {
  bytes: number;
  pages: number;
  /** The unzipped XML of an office file. */
  expandedBytes: number;
  /** Text and headings, in UTF-16 units. */
  characters: number;
  /** Processor time. */
  timeoutMs: number;
  /** Heap and buffers of the worker. */
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

/** A section of a document, a page of a PDF, a slide, or a row of a table. */
export interface DocumentPart {
  /** Its headings, outermost first, joined with HEADING_SEPARATOR. */
  heading: string;
  /** Plain text, with tables, lists and code as Markdown. */
  text: string;
}

export const HEADING_SEPARATOR = " > ";

export const DOCUMENT_TYPES = {
  "text/plain": "plain text",
  "text/markdown": "Markdown",
  "text/html": "HTML",
  "text/csv": "CSV",
  "application/pdf": "PDF",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "DOCX",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PPTX",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "XLSX",
  "application/vnd.oasis.opendocument.text": "ODT",
} as const;

export type DocumentType = keyof typeof DOCUMENT_TYPES;

/** `charset` is null when the content type names none. Throws AppError `unsupported_media_type`. */
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

/** What is wrong with a document, for its author. parseDocument makes an AppError of it. */
export class UnreadableReason extends Error {
  override readonly name = "UnreadableReason";
}

/** `reason` continues "cannot be read: " and says what to do. */
export function unreadable(reason: string, { title, cause }: { title?: string | undefined; cause?: unknown } = {}): AppError {
  const name = title === undefined ? "The document" : `The document ${JSON.stringify(title.slice(0, 200).toWellFormed())}`;
  return new AppError("document_unreadable", `${name} cannot be read: ${reason}`, cause === undefined ? {} : { cause });
}

/** A heading of `level` 1 to 6 and its text. Before the first heading: level 0 and "". */
export interface Section {
  level: number;
  heading: string;
  text: string;
}

/** In broken files a "heading" may be as long as a page. */
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
