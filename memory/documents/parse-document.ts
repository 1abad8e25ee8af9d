import { DOCUMENT_LIMITS, type DocumentLimits } from "./document-limits.ts";
import { readContentType } from "./document-type.ts";
import type { ParsedDocument } from "./parsed-document.ts";
import { runParseWorker } from "./run-parse-worker.ts";
import { assertReadable } from "./sniff-document.ts";
import { unreadable } from "./unreadable.ts";

/** A file as it was uploaded. */
export interface UploadedDocument {
  bytes: Uint8Array;
  contentType: string;
  /** Names the document in errors. */
  title: string;
}

/**
 * Reads a document, in a thread of its own because anyone may have made it. Throws AppError `unsupported_media_type` or
 * `document_unreadable`, and the signal's reason when that aborts.
 */
export async function parseDocument(
  { bytes, contentType, title }: UploadedDocument,
  signal: AbortSignal,
  limits: Partial<DocumentLimits> = {},
): Promise<ParsedDocument> {
  signal.throwIfAborted();
  const allLimits = { ...DOCUMENT_LIMITS, ...limits };
  assertReadable({ bytes, contentType, title }, allLimits);
  const answer = await runParseWorker({ bytes: new Uint8Array(bytes), ...readContentType(contentType), limits: allLimits }, signal);
  if ("parts" in answer) return answer.parts;
  throw unreadable(answer.reason, { title, cause: answer.cause });
}
