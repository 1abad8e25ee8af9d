import { Worker } from "node:worker_threads";
import { abortable } from "../../../turn/deadlines.ts";
import { startEventLoopTimer } from "../../../observe/event-loop-timer.ts";
import { AppError } from "../../../errors/app-error.ts";
import { packageFile } from "../../../errors/package-file.ts";
import {
  DOCUMENT_LIMITS,
  DOCUMENT_TYPES,
  type DocumentLimits,
  type DocumentType,
  readContentType,
  unreadable,
  UnreadableReason,
  type DocumentPart,
} from "./document.ts";
import type { Chunk } from "./split-document.ts";

interface UploadedDocument {
  bytes: Uint8Array;
  contentType: string;
  title?: string | undefined;
}

export interface WorkerTask {
  bytes: Uint8Array<ArrayBuffer>;
  type: DocumentType;
  charset: string | null;
  limits: DocumentLimits;
  isCut: boolean;
}

/** `cause` is the error as text for the log: errors lose their class between threads. */
export type WorkerAnswer = { parts: DocumentPart[] } | { chunks: Chunk[] } | { reason: string; cause: string };

/** The worker's first message. */
export const BEGUN = "begun";

/**
 * Parses a document into chunks in a worker thread. Throws the signal's reason or AppError `unsupported_media_type`, `document_unreadable`,
 * or `overloaded` when the thread got too little processor time.
 */
export async function parseDocument(
  document: UploadedDocument,
  signal: AbortSignal,
  changed: Partial<DocumentLimits> = {},
): Promise<Chunk[]> {
  const answer = await readInWorker(document, signal, { changed, isCut: true });
  return "chunks" in answer ? answer.chunks : [];
}

/** The same, uncut. */
export async function readDocument(document: UploadedDocument, signal: AbortSignal): Promise<DocumentPart[]> {
  const answer = await readInWorker(document, signal, { changed: {}, isCut: false });
  return "parts" in answer ? answer.parts : [];
}

async function readInWorker(
  document: UploadedDocument,
  signal: AbortSignal,
  { changed, isCut }: { changed: Partial<DocumentLimits>; isCut: boolean },
): Promise<WorkerAnswer> {
  const { bytes, contentType, title } = document;
  const limits = { ...DOCUMENT_LIMITS, ...changed };
  assertSize(document, limits);
  const answer = await runParseWorker({ bytes: new Uint8Array(bytes), ...readContentType(contentType), limits, isCut }, signal);
  if (answer === "late") throw late(title, limits);
  if ("reason" in answer) throw unreadable(answer.reason, { title, cause: answer.cause });
  return answer;
}

const WORKER_FILE = packageFile(import.meta.url.endsWith(".ts") ? "memory/documents/parsing/parse-worker.ts" : "dist/parse-worker.js");

const MIB = 2 ** 20;
const CHECK_MS = 50;
/** A large allocation beyond V8's limit may end the process, so ours is a fourth of it. */
const HEAP_SHARE_OF_V8 = 1 / 4;
const SMALLEST_V8_HEAP_MIB = 1024;

/** A busy machine runs a thread only part of the time. */
const WALL_TIME = 4;

function late(title: string | undefined, { timeoutMs }: DocumentLimits): AppError {
  const problem = `The document ${JSON.stringify(title ?? "")} was not read within ${(WALL_TIME * timeoutMs) / 1000} s, while the machine was busy.`;
  return new AppError("overloaded", `${problem} Let it be read again when there is less to do.`);
}

const TOO_MUCH_MEMORY = "it takes too much memory to read. Split it into smaller documents.";

/** Stops the thread even in an endless loop. Rejects with the signal's reason; else returns an answer or "late". */
async function runParseWorker(task: WorkerTask, signal: AbortSignal): Promise<WorkerAnswer | "late"> {
  signal.throwIfAborted();
  const { timeoutMs, memoryBytes } = task.limits;
  const worker = new Worker(WORKER_FILE, {
    workerData: task,
    transferList: [task.bytes.buffer],
    resourceLimits: { maxOldGenerationSizeMb: Math.max(memoryBytes / MIB / HEAP_SHARE_OF_V8, SMALLEST_V8_HEAP_MIB) },
    // No secrets for the readers, no warnings in the log.
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  });
  worker.stdout.resume();
  worker.stderr.resume();
  const { promise, resolve } = Promise.withResolvers<WorkerAnswer | "late">();
  const giveUp = (reason: string, cause: string): void => resolve({ reason, cause });
  const startTimer = () => startEventLoopTimer(WALL_TIME * timeoutMs, () => resolve("late"));
  let stopTimer = startTimer();
  worker.on("message", (message: WorkerAnswer | typeof BEGUN) => {
    if (message !== BEGUN) return resolve(message);
    stopTimer();
    stopTimer = startTimer();
  });
  worker.on("error", (error: NodeJS.ErrnoException) => {
    const reason =
      error.code === "ERR_WORKER_OUT_OF_MEMORY" ? TOO_MUCH_MEMORY : "the program that reads it failed. Save it as another type.";
    giveUp(reason, String(error));
  });
  worker.once("exit", (code) => giveUp("the program that reads it ended early. Save it as another type.", `exit code ${code}`));
  const slow = `reading it took longer than ${timeoutMs / 1000} s of processor time. Split it into smaller documents.`;
  async function check(): Promise<void> {
    // V8 does not count buffers, into which streams are unpacked.
    const { used_heap_size: heap, external_memory: buffers } = await worker.getHeapStatistics();
    if (heap + buffers > memoryBytes) giveUp(TOO_MUCH_MEMORY, `${heap} bytes of heap, ${buffers} of buffers`);
    const { user, system } = await cpuUsageOf(worker);
    if ((user + system) / 1_000 > timeoutMs) giveUp(slow, "processor time");
  }
  const watch = setInterval(() => void check().catch(() => undefined), CHECK_MS); // fails when the thread has ended

  try {
    return await abortable(() => promise, signal);
  } finally {
    stopTimer();
    clearInterval(watch);
    await worker.terminate();
  }
}

/** Empty before Node 24.6, which cannot tell: then only time counts. */
async function cpuUsageOf(worker: Worker): Promise<NodeJS.CpuUsage> {
  return "cpuUsage" in worker ? worker.cpuUsage() : { user: 0, system: 0 };
}

/** PDF readers accept other bytes before "%PDF-". */
const PDF_HEADER_WITHIN_BYTES = 1024;
const ZIP_ENTRY = "PK\u0003\u0004";
const OLD_OFFICE_FILE = "\u00D0\u00CF\u0011\u00E0";

function assertSize({ bytes, title }: UploadedDocument, limits: Pick<DocumentLimits, "bytes">): void {
  if (bytes.length <= limits.bytes) return;
  throw unreadable(`it has ${bytes.length} bytes, more than the ${limits.bytes} allowed. Split it.`, { title });
}

/**
 * Checks in milliseconds, at upload, that a file looks like a readable type. Throws AppError `unsupported_media_type` or
 * `document_unreadable`.
 */
export function assertLooksReadable(document: UploadedDocument): void {
  const { bytes, contentType, title } = document;
  const { type, charset } = readContentType(contentType);
  assertSize(document, DOCUMENT_LIMITS);
  try {
    checkContent(bytes, type, charset);
  } catch (error) {
    if (error instanceof UnreadableReason) throw unreadable(error.message, { title, cause: error.cause });
    throw error;
  }
}

/** Throws UnreadableReason for bytes that do not look like this type. */
export function checkContent(bytes: Uint8Array, type: DocumentType, charset: string | null): void {
  if (bytes.length === 0) throw new UnreadableReason("it is empty. Upload a file with text in it.");
  const wrong = `it is no ${DOCUMENT_TYPES[type]} file, though its type is ${type}. Send it with the type that it has.`;
  if (type === "application/pdf") {
    if (!latin1(bytes.subarray(0, PDF_HEADER_WITHIN_BYTES)).includes("%PDF-")) throw new UnreadableReason(wrong);
  } else if (type.startsWith("application/")) {
    const start = latin1(bytes.subarray(0, ZIP_ENTRY.length));
    if (start === OLD_OFFICE_FILE) throw new UnreadableReason(oldOrLocked(DOCUMENT_TYPES[type]));
    if (start !== ZIP_ENTRY) throw new UnreadableReason(wrong);
  } else if (!/\S/.test(decodeText(bytes, charset, { html: type === "text/html" }))) {
    throw new UnreadableReason("it is blank. Upload a file with text in it.");
  }
}

/** An encrypted office file has the format from before 2007. */
const oldOrLocked = (called: string): string =>
  `it is no ${called} file but one of Office 2003 or earlier, or it is protected by a password. Save it as ${called} without one.`;

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");

const BYTE_ORDER_MARKS: readonly [string, readonly number[]][] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];

/** Older Chinese pages name their charset. The standard searches the first 1,024 bytes. */
const META_CHARSET = /<meta[^>]{0,500}?charset\s*=\s*(?:["']\s*)?([\w-]{2,40})/i;
const META_BYTES = 1024;

/**
 * Decodes by byte order mark, else the content type's charset, else an HTML page's <meta>, else as UTF-8. Lines end in "\n". Throws
 * UnreadableReason when the bytes are not of that charset or hold NUL.
 */
export function decodeText(bytes: Uint8Array, charset: string | null, { html = false }: { html?: boolean } = {}): string {
  const marked = BYTE_ORDER_MARKS.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte))?.[0];
  const label = marked ?? charset ?? (html ? metaCharset(bytes) : null) ?? "utf-8";
  const text = decode(bytes, label);
  if (text.includes("\0"))
    throw new UnreadableReason("it holds NUL characters, so it is no text but a binary file. Upload it under its own type.");
  return text.replaceAll(/\r\n?/g, "\n");
}

function metaCharset(bytes: Uint8Array): string | null {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, META_BYTES));
  const label = META_CHARSET.exec(head)?.[1];
  // A <meta> read as ASCII is not UTF-16.
  return label === undefined || /^utf-?16/i.test(label) ? null : label;
}

function decode(bytes: Uint8Array, label: string): string {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  try {
    decoder = new TextDecoder(label, { fatal: true });
    return decoder.decode(bytes);
  } catch (cause) {
    const reason = decoder
      ? `it is not valid ${decoder.encoding} text. Save it as UTF-8, or name its charset in the content type.`
      : `its charset ${JSON.stringify(label.slice(0, 40))} is unknown. Save it as UTF-8 and upload it again.`;
    throw new UnreadableReason(reason, { cause });
  }
}
