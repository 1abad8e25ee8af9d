import { inspect } from "node:util";
import { parentPort, workerData } from "node:worker_threads";
import { readDocument } from "./read-document.ts";
import type { WorkerAnswer, WorkerTask } from "./worker-protocol.ts";
import { UnreadableReason } from "./unreadable-reason.ts";

async function answerTo(task: WorkerTask): Promise<WorkerAnswer> {
  const parts = await readDocument(task);
  return task.splits ? { chunks: await (await import("./split-document.ts")).splitDocument(parts) } : { parts };
}

/** The program of the thread that reads one document, started by runParseWorker. It answers once. */
const answer = await answerTo(workerData as WorkerTask).catch((error: unknown): WorkerAnswer => ({
  reason: reasonOf(error),
  cause: inspect(error),
}));
parentPort?.postMessage(answer);

function reasonOf(error: unknown): string {
  if (error instanceof UnreadableReason) return error.message;
  if (error instanceof RangeError && /call stack/.test(error.message))
    return "it is nested too deeply. Simplify it or save it as plain text.";
  return "it is damaged, or made in a way that is not understood. Save it again, or as another type, and upload the new file.";
}
