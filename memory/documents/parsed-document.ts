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
