import { MIMEType } from "node:util";
import { AppError } from "../../errors/app-error.ts";

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
