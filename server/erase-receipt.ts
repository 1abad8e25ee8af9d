import type { Response } from "express";
import type { EraseReceipt } from "../memory/erase/make-erase.ts";

const countsOf = ({ messages, summaries, episodes, coreMemorySections, memoryOperations, jobs }: EraseReceipt) => {
  return { messages, summaries, episodes, core_memory_sections: coreMemorySections, memory_operations: memoryOperations, jobs };
};

/**
 * Answers with what was erased, per kind; 202 while a job still takes out what was set aside, or has to clear the index, which could not be reached.
 * Of what was set aside it says where its progress can be read.
 */
export function sendEraseReceipt(response: Response, receipt: EraseReceipt): void {
  const { isPending, left } = receipt;
  if (left) response.location(`/api/v1/erasures/${left.erasureId}`);
  response.status(isPending ? 202 : 200).json({
    erased: countsOf(receipt),
    ...(isPending ? { pending: [...(left && left.messages > 0 ? ["messages"] : []), "episodes"] } : {}),
    ...(left ? { left: { messages: left.messages }, erasure_id: left.erasureId } : {}),
  });
}

/** Answers with how far one erasure is. */
export function sendErasure(response: Response, id: string, receipt: EraseReceipt): void {
  const { isPending, left } = receipt;
  response.json({ id, erased: countsOf(receipt), pending: isPending, left: { messages: left?.messages ?? 0 } });
}
