import { decodeText } from "./decode-text.ts";
import { DOCUMENT_LIMITS, type DocumentLimits } from "./document-limits.ts";
import { DOCUMENT_TYPES, readContentType, type DocumentType } from "./document-type.ts";
import { unreadable } from "./unreadable.ts";
import { UnreadableReason } from "./unreadable-reason.ts";

/** How far into a file "%PDF-" may begin: readers of PDF take rubbish before it. */
const PDF_HEADER_WITHIN_BYTES = 1024;
const ZIP_ENTRY = "PK\u0003\u0004";

/** Throws AppError `document_unreadable` for a file that is too large. */
export function assertSize({ bytes, title }: { bytes: Uint8Array; title?: string }, limits: Pick<DocumentLimits, "bytes">): void {
  if (bytes.length <= limits.bytes) return;
  throw unreadable(`it has ${bytes.length} bytes, more than the ${limits.bytes} allowed. Split it.`, title === undefined ? {} : { title });
}

/**
 * The cheap check at upload, milliseconds: that the type is one we read and the bytes look like it. Whether they can be read to the end
 * shows in parseDocument. Throws AppError `unsupported_media_type` or `document_unreadable`.
 */
export function assertReadable(
  { bytes, contentType, title }: { bytes: Uint8Array; contentType: string; title?: string },
  limits: Pick<DocumentLimits, "bytes"> = DOCUMENT_LIMITS,
): void {
  const { type, charset } = readContentType(contentType);
  const named = title === undefined ? {} : { title };
  assertSize({ bytes, ...named }, limits);
  try {
    checkContent(bytes, type, charset);
  } catch (error) {
    if (error instanceof UnreadableReason) throw unreadable(error.message, { ...named, cause: error.cause });
    throw error;
  }
}

/** Throws UnreadableReason for bytes that do not look like a file of this type. */
export function checkContent(bytes: Uint8Array, type: DocumentType, charset: string | null): void {
  if (bytes.length === 0) throw new UnreadableReason("it is empty. Upload a file with text in it.");
  const wrong = `it is no ${DOCUMENT_TYPES[type]} file, though its type is ${type}. Send it with the type that it has.`;
  if (type === "application/pdf") {
    if (!latin1(bytes.subarray(0, PDF_HEADER_WITHIN_BYTES)).includes("%PDF-")) throw new UnreadableReason(wrong);
  } else if (type.startsWith("application/")) {
    if (latin1(bytes.subarray(0, ZIP_ENTRY.length)) !== ZIP_ENTRY) throw new UnreadableReason(wrong);
  } else if (!/\S/.test(decodeText(bytes, charset, { html: type === "text/html" }))) {
    throw new UnreadableReason("it is blank. Upload a file with text in it.");
  }
}

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
