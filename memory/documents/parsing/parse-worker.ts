import { inspect } from "node:util";
import { parentPort, workerData } from "node:worker_threads";
import { BEGUN, checkContent, decodeText, type WorkerAnswer, type WorkerTask } from "./parse-document.ts";
import { storableText } from "../../../text/storable-text.ts";
import { type DocumentPart, UnreadableReason } from "./document.ts";
import { splitDocument } from "./split-document.ts";

/** The thread that reads one document and answers once. */
const task = workerData as WorkerTask;
parentPort?.postMessage(BEGUN);
const answer = await readAll(task)
  .then(async (parts): Promise<WorkerAnswer> => (task.isCut ? { chunks: await splitDocument(parts) } : { parts }))
  .catch((error: unknown): WorkerAnswer => ({ reason: reasonOf(error), cause: inspect(error) }));
parentPort?.postMessage(answer);

async function readAll(task: WorkerTask): Promise<DocumentPart[]> {
  const { characters } = task.limits;
  checkContent(task.bytes, task.type, task.charset);
  const read = await readParts(task);
  const parts = read.map(({ heading, text }) => ({ heading: storableText(heading), text: storableText(text) }));
  const total = parts.reduce((sum, { heading, text }) => sum + heading.length + text.length, 0);
  if (total > characters) {
    throw new UnreadableReason(`it has ${total} characters of text, more than the ${characters} allowed. Split it into smaller documents.`);
  }
  const filled = parts.filter(({ text }) => /\S/.test(text));
  if (filled.length > 0) return filled;
  const advice = task.type === "application/pdf" ? "A scanned PDF needs text recognition (OCR) first." : "Upload a file with text in it.";
  throw new UnreadableReason(`there is no text in it. ${advice}`);
}

async function readParts({ bytes, type, charset, limits }: WorkerTask): Promise<DocumentPart[]> {
  switch (type) {
    case "text/plain":
      return [{ heading: "", text: decodeText(bytes, charset) }];
    case "text/markdown":
      return (await import("./read-markdown.ts")).readMarkdown(decodeText(bytes, charset));
    case "text/csv":
      return (await import("./read-csv.ts")).readCsv(decodeText(bytes, charset));
    case "text/html":
      return (await import("./read-html.ts")).readHtml(decodeText(bytes, charset, { html: true }));
    case "application/pdf":
      return (await import("./read-pdf.ts")).readPdf(bytes, limits);
    case "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
      return (await import("./read-docx.ts")).readDocx(bytes, limits);
    case "application/vnd.openxmlformats-officedocument.presentationml.presentation":
      return (await import("./read-office.ts")).readOffice(bytes, "pptx", limits);
    case "application/vnd.oasis.opendocument.text":
      return (await import("./read-office.ts")).readOffice(bytes, "odt", limits);
    case "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":
      return (await import("./read-xlsx.ts")).readXlsx(bytes, limits);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof UnreadableReason) return error.message;
  if (error instanceof RangeError && /call stack/.test(error.message))
    return "it is nested too deeply. Simplify it or save it as plain text.";
  return "it is damaged, or made in a way that is not understood. Save it again, or as another type, and upload the new file.";
}
