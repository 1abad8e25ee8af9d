import { MIMEType } from "node:util";
import { AppError } from "../../errors/app-error.ts";

const MIB = 2 ** 20;

/** What one document may cost. A file is made by whoever uploads it, so each number is one that somebody will try to exceed. */
export interface DocumentLimits {
  /** Of the file as uploaded. */
  bytes: number;
  /** Of a PDF. */
  pages: number;
  /** Of the XML inside a DOCX, which is a zip: what a zip bomb makes large. */
  expandedBytes: number;
  /** Of text that comes out, in UTF-16 units and headings included. */
  characters: number;
  /** From the start of the worker to its last part, in milliseconds. */
  timeoutMs: number;
  /** Of the worker: its JavaScript heap and its buffers. */
  memoryBytes: number;
}

/** The limits of the service; tests give smaller ones. */
export const DOCUMENT_LIMITS: DocumentLimits = {
  bytes: 20 * MIB,
  pages: 2_000,
  expandedBytes: 64 * MIB,
  characters: 5_000_000,
  timeoutMs: 30_000,
  memoryBytes: 768 * MIB,
};

/** A piece of a document as its author cut it: a section, a page of a PDF or a row of a CSV file. */
export interface DocumentPart {
  /** The headings above it, outermost first, joined with HEADING_SEPARATOR; "" when there are none. */
  heading: string;
  /** Plain text, or Markdown where the document had tables, lists or code. Without the heading. */
  text: string;
  /** Of a PDF, from 1. */
  page?: number;
}

/** What was read of a document, in its order. */
export type ParsedDocument = DocumentPart[];

export const HEADING_SEPARATOR = " > ";

/** The media types that can be read, and how a person calls them. */
export const DOCUMENT_TYPES = {
  "text/plain": "plain text",
  "text/markdown": "Markdown",
  "text/html": "HTML",
  "text/csv": "CSV",
  "application/pdf": "PDF",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "DOCX",
} as const;

export type DocumentType = keyof typeof DOCUMENT_TYPES;

/** A content type taken apart; `charset` is null when it names none. Throws AppError `unsupported_media_type` for any other type. */
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

/** Thrown while a document is parsed, in the worker, when what is wrong is known; parseDocument makes the AppError of it. */
export class UnreadableReason extends Error {
  override readonly name = "UnreadableReason";
}

/** The error of a document that cannot be read. `reason` goes on after "cannot be read: " and says what the person can do about it. */
export function unreadable(reason: string, { title, cause }: { title?: string; cause?: unknown } = {}): AppError {
  const name = title === undefined ? "The document" : `The document ${JSON.stringify(title.slice(0, 200).toWellFormed())}`;
  return new AppError("document_unreadable", `${name} cannot be read: ${reason}`, cause === undefined ? {} : { cause });
}

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
