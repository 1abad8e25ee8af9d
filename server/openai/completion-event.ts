import { AppError, type ErrorContent } from "../../errors/app-error.ts";
import type { TurnEvent } from "../../graph/turn-event.ts";
import type { Usage } from "../../graph/state.ts";

/** A call of a tool that the client said must be called. */
export interface ToolCall {
  name: string;
  /** JSON. */
  arguments: string;
}

/** What happens while an answer is made, be it a turn's or a task's. Ends with exactly one `end` or `error`. */
export type CompletionEvent =
  | { kind: "text"; text: string }
  | { kind: "tool_call"; call: ToolCall }
  | { kind: "end"; finishReason: "stop" | "length" | "tool_calls"; usage: Usage }
  | { kind: "error"; error: AppError };

const toAppError = ({ code, message }: ErrorContent): AppError => new AppError(code, message);

function ofTurn(event: TurnEvent): CompletionEvent[] {
  switch (event.status) {
    case "token":
      return [{ kind: "text", text: event.content }];
    case "done":
      return [{ kind: "end", finishReason: event.content.completed ? "stop" : "length", usage: event.content.usage }];
    case "error":
      return [{ kind: "error", error: toAppError(event.content) }];
    case "route_decision":
    case "execution_log":
    case "notice":
      return []; // OpenAI's protocol has no place for them
  }
}

/** A turn's events as those of a completion. */
export async function* eventsOfTurn(batches: AsyncIterable<TurnEvent[]>): AsyncGenerator<CompletionEvent[], void> {
  for await (const batch of batches) yield batch.flatMap(ofTurn);
}
