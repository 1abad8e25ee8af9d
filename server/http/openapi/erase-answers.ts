import { z } from "zod";
import { jsonAnswer, type Answer } from "./operation.ts";

const erased = z.object({
  messages: z.int(),
  summaries: z.int(),
  episodes: z.int(),
  core_memory_sections: z.int(),
  memory_operations: z.int(),
  jobs: z.int(),
});

export const EraseAnswer = z.object({
  erased,
  pending: z
    .array(z.enum(["messages", "episodes"]))
    .optional()
    .describe(
      "What a job still has to take out; nobody can find it any more. `messages`: the erase is a large one. `episodes`: the index is not clear, as in a large erase, or because it could not be reached or is switched off in this process.",
    ),
  left: z.object({ messages: z.int() }).optional().describe("Of a large erase, what is still to be taken out."),
  erasure_id: z.uuid().optional().describe("Of a large erase that is not done: its progress is read by this id."),
});

export const ErasureAnswer = z.object({
  id: z.uuid(),
  erased: erased.describe("So far."),
  pending: z.boolean().describe("A job still has something to take out, of the text or of the index."),
  left: z.object({ messages: z.int() }),
});

/** Erasing answers the same everywhere. */
export const ERASED: Readonly<Record<number, Answer>> = {
  200: jsonAnswer(EraseAnswer, "How much of each kind was erased."),
  202: jsonAnswer(
    EraseAnswer,
    "Erased for everybody who asks, and a job takes out what is left: a large erase goes in batches, and the index may not be reachable. Of a large " +
      "erase `Location` and `erasure_id` say where its progress can be read. The same request again tells it, too, and erases what has come since.",
    ["Location"],
  ),
};
