import type { DocumentLimits } from "./document-limits.ts";
import type { DocumentType } from "./document-type.ts";
import type { ParsedDocument } from "./parsed-document.ts";
import type { Chunk } from "./split-document.ts";

/** What the parsing thread is given. */
export interface WorkerTask {
  bytes: Uint8Array<ArrayBuffer>;
  type: DocumentType;
  charset: string | null;
  limits: DocumentLimits;
  /** Cuts the parts into chunks as well. */
  splits: boolean;
}

/** What it answers: the parts or chunks, or why there are none, with the error as text for the log (errors lose their class between threads). */
export type WorkerAnswer = { parts: ParsedDocument } | { chunks: Chunk[] } | { reason: string; cause: string };
