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
