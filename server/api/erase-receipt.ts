import type { Response } from "express";
import { z } from "zod";
import type { EraseReceipt } from "../../memory/erase/erase.ts";
import { jsonAnswer, type Sent } from "../http/operation.ts";

export const counts = z.object({
  messages: z.int(),
  summaries: z.int(),
  episodes: z.int(),
  core_memory_sections: z.int(),
  memory_operations: z.int(),
  jobs: z.int(),
});

export const EraseAnswer = z.object({
  erased: counts,
  forks: z
    .array(z.uuid())
    .optional()
    .describe("Forks that shared some of what was erased, and are without it now. Left out when there are none."),
  pending: z
    .array(z.enum(["messages", "episodes"]))
    .optional()
    .describe(
      "What a job still has to take out; nobody can find it any more. `messages`: the erase is a large one. `episodes`: the index is not clear, as in a large erase, or because it could not be reached or is switched off in this process.",
    ),
  left: z.object({ messages: z.int() }).optional().describe("Of a large erase, what is still to be taken out."),
  erasure_id: z.uuid().optional().describe("Of a large erase that is not done: its progress is read by this id."),
});

export const ERASED = {
  200: jsonAnswer(EraseAnswer, "How much of each kind was erased."),
  202: jsonAnswer(
    EraseAnswer,
    "Erased for everybody who asks, and a job takes out what is left: a large erase goes in batches, and the index may not be reachable. Of a large " +
      "erase `Location` and `erasure_id` say where its progress can be read. The same request again tells it, too, and erases what has come since.",
    ["Location"],
  ),
};

export const countsOf = ({ messages, summaries, episodes, coreMemorySections, memoryOperations, jobs }: EraseReceipt) => {
  return { messages, summaries, episodes, core_memory_sections: coreMemorySections, memory_operations: memoryOperations, jobs };
};

/** Answers 202 while a job still has to purge rows or clear the index. */
export function sendEraseReceipt(response: Response<Sent<z.output<typeof EraseAnswer>>>, receipt: EraseReceipt): void {
  const { isPending, left, forks } = receipt;
  if (left) response.location(`/api/v1/erasures/${left.erasureId}`);
  response.status(isPending ? 202 : 200).json({
    erased: countsOf(receipt),
    ...(forks.length > 0 ? { forks } : {}),
    ...(isPending ? { pending: [...(left && left.messages > 0 ? ["messages" as const] : []), "episodes" as const] } : {}),
    ...(left ? { left: { messages: left.messages }, erasure_id: left.erasureId } : {}),
  });
}
