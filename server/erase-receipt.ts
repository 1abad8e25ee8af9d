import type { Response } from "express";
import type { EraseReceipt } from "../memory/erase/make-erase.ts";

/** Answers with what was erased, per kind; 202 while a job still has to clear the index, which could not be reached. */
export function sendEraseReceipt(response: Response, { isPending, ...erased }: EraseReceipt): void {
  const { messages, summaries, episodes, coreMemorySections, memoryOperations, jobs } = erased;
  response.status(isPending ? 202 : 200).json({
    erased: { messages, summaries, episodes, core_memory_sections: coreMemorySections, memory_operations: memoryOperations, jobs },
    ...(isPending ? { pending: ["episodes"] } : {}),
  });
}
