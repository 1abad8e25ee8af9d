import { DOCUMENT_LIMITS, type DocumentLimits } from "./document-limits.ts";
import type { Chunk } from "./split-document.ts";
import type { WorkerAnswer } from "./worker-protocol.ts";
import { readContentType } from "./document-type.ts";
import type { ParsedDocument } from "./parsed-document.ts";
import { runParseWorker } from "./run-parse-worker.ts";
import { assertSize } from "./sniff-document.ts";
import { unreadable } from "./unreadable.ts";

/** A file as it was uploaded. */
export interface UploadedDocument {
  bytes: Uint8Array;
  contentType: string;
  /** Names the document in errors. */
  title: string;
}

async function ask(
  { bytes, contentType, title }: UploadedDocument,
  splits: boolean,
  signal: AbortSignal,
  limits: Partial<DocumentLimits>,
): Promise<Exclude<WorkerAnswer, { reason: string }>> {
  signal.throwIfAborted();
  const allLimits = { ...DOCUMENT_LIMITS, ...limits };
  assertSize({ bytes, title }, allLimits);
  const task = { bytes: new Uint8Array(bytes), ...readContentType(contentType), limits: allLimits, splits };
  const answer = await runParseWorker(task, signal);
  if ("reason" in answer) throw unreadable(answer.reason, { title, cause: answer.cause });
  return answer;
}

/**
 * Reads a document, in a thread of its own because anyone may have made it. Throws AppError `unsupported_media_type` or
 * `document_unreadable`, and the signal's reason when that aborts.
 */
export async function parseDocument(
  document: UploadedDocument,
  signal: AbortSignal,
  limits: Partial<DocumentLimits> = {},
): Promise<ParsedDocument> {
  const answer = await ask(document, false, signal, limits);
  return "parts" in answer ? answer.parts : [];
}

/** Reads a document and cuts it into chunks, all of it in that thread: a table of megabytes has a hundred thousand parts. Throws as parseDocument. */
export async function readChunks(document: UploadedDocument, signal: AbortSignal): Promise<Chunk[]> {
  const answer = await ask(document, true, signal, {});
  return "chunks" in answer ? answer.chunks : [];
}
