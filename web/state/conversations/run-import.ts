import { ApiError, NO_CONNECTION } from "../../api/api-error.ts";
import { importMessages } from "../../api/view-endpoints.ts";
import { readEvents } from "../../api/read-events.ts";
import type { ImportResult, ImportEvent } from "../../api/types.ts";
import { userId } from "../page/settings.ts";

export interface ImportProgress {
  done: number;
  total: number;
}

export class ImportProblem extends Error {
  override readonly name = "ImportProblem";
  readonly code: "notJson" | "notMessages";
  constructor(code: "notJson" | "notMessages") {
    super(code);
    this.code = code;
  }
}

/** The file itself, or its `messages`. */
function messagesIn(text: string): unknown[] {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new ImportProblem("notJson");
  }
  const messages = Array.isArray(content) ? content : (content as { messages?: unknown } | null)?.messages;
  if (!Array.isArray(messages) || messages.length === 0) throw new ImportProblem("notMessages");
  return messages as unknown[];
}

/** Imports a JSON file into a session. Throws ImportProblem or ApiError. */
export async function runImport(
  text: string,
  sessionId: string,
  { onProgress, signal }: { onProgress: (progress: ImportProgress) => void; signal: AbortSignal },
): Promise<ImportResult> {
  const response = await importMessages({ user_id: userId.value, session_id: sessionId, messages: messagesIn(text) }, signal);
  for await (const events of readEvents<ImportEvent>(response)) {
    for (const { status, content } of events) {
      if (status === "progress") onProgress(content);
      else if (status === "done") return content;
      else throw new ApiError(503, content.code, content.message);
    }
  }
  throw new ApiError(0, NO_CONNECTION, "The connection ended before the import did.");
}
