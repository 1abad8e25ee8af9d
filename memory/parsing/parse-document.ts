import path from "node:path";
import { Worker } from "node:worker_threads";
import { DOCUMENT_LIMITS, type DocumentLimits, type DocumentType, type ParsedDocument, readContentType, unreadable } from "./document.ts";
import type { Chunk } from "./split-document.ts";
import { assertSize } from "./check-content.ts";

interface UploadedDocument {
  bytes: Uint8Array;
  contentType: string;
  /** Names the document in errors. */
  title: string;
}

/** Parses a document in a worker thread. Throws AppError `unsupported_media_type` or `document_unreadable`, or the signal's reason. */
export async function parseDocument(
  document: UploadedDocument,
  signal: AbortSignal,
  limits: Partial<DocumentLimits> = {},
): Promise<ParsedDocument> {
  const answer = await askWorker(document, false, signal, limits);
  return "parts" in answer ? answer.parts : [];
}

/** Parses a document and cuts it into chunks in that thread. Throws like parseDocument. */
export async function readChunks(document: UploadedDocument, signal: AbortSignal): Promise<Chunk[]> {
  const answer = await askWorker(document, true, signal, {});
  return "chunks" in answer ? answer.chunks : [];
}

export interface WorkerTask {
  bytes: Uint8Array<ArrayBuffer>;
  type: DocumentType;
  charset: string | null;
  limits: DocumentLimits;
  /** Whether to answer with chunks or with parts. */
  splits: boolean;
}

/** `cause` is the error as text, for the log: errors lose their class between threads. */
export type WorkerAnswer = { parts: ParsedDocument } | { chunks: Chunk[] } | { reason: string; cause: string };

async function askWorker(
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

/** .ts in the sources and .js in dist: tsc rewrites imports but not URLs. */
const WORKER_FILE = new URL(`./parse-worker${path.extname(import.meta.filename)}`, import.meta.url);

const MIB = 2 ** 20;
const MEMORY_CHECK_MS = 50;
/** A large allocation beyond V8's own limit may end the whole process, so ours is a fourth of it. */
const HEAP_SHARE_OF_V8 = 1 / 4;
const SMALLEST_V8_HEAP_MIB = 1024;

const TOO_MUCH_MEMORY = "it takes too much memory to read. Split it into smaller documents.";

/** Stops the thread even in an endless loop. Rejects with the signal's reason; every other end is an answer. */
async function runParseWorker(task: WorkerTask, signal: AbortSignal): Promise<WorkerAnswer> {
  signal.throwIfAborted();
  const { timeoutMs, memoryBytes } = task.limits;
  const worker = new Worker(WORKER_FILE, {
    workerData: task,
    transferList: [task.bytes.buffer],
    resourceLimits: { maxOldGenerationSizeMb: Math.max(memoryBytes / MIB / HEAP_SHARE_OF_V8, SMALLEST_V8_HEAP_MIB) },
    // No secrets for the readers, and none of their warnings in the log.
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  });
  worker.stdout.resume();
  worker.stderr.resume();
  const { promise, resolve, reject } = Promise.withResolvers<WorkerAnswer>();
  const giveUp = (reason: string, cause: string): void => resolve({ reason, cause });
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  worker.once("message", (answer: WorkerAnswer) => resolve(answer));
  worker.on("error", (error: NodeJS.ErrnoException) => {
    const reason =
      error.code === "ERR_WORKER_OUT_OF_MEMORY" ? TOO_MUCH_MEMORY : "the program that reads it failed. Save it as another type.";
    giveUp(reason, String(error));
  });
  worker.once("exit", (code) => giveUp("the program that reads it ended early. Save it as another type.", `exit code ${code}`));
  const slow = `reading it took longer than ${timeoutMs / 1000} s. Split it into smaller documents.`;
  const deadline = setTimeout(() => giveUp(slow, "deadline"), timeoutMs);
  // V8 does not count buffers, into which streams are unpacked.
  const watch = setInterval(() => {
    worker.getHeapStatistics().then(
      ({ used_heap_size: heap, external_memory: buffers }) => {
        if (heap + buffers > memoryBytes) giveUp(TOO_MUCH_MEMORY, `${heap} bytes of heap, ${buffers} of buffers`);
      },
      () => undefined, // it has ended
    );
  }, MEMORY_CHECK_MS);
  try {
    return await promise;
  } finally {
    clearTimeout(deadline);
    clearInterval(watch);
    signal.removeEventListener("abort", onAbort);
    await worker.terminate();
  }
}
