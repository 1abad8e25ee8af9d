import type { ModelAnswer } from "../../models/stream-answer.ts";
import { shownArguments } from "../../text/tool-arguments.ts";
import type { ToolCall } from "./tool-schemas.ts";

export interface IdentifiedCall extends ToolCall {
  id: string;
}

/** The calls of an answer. Text that is no JSON stays, to be refused. */
export function readToolCalls({ toolCalls }: Pick<ModelAnswer, "toolCalls">): IdentifiedCall[] {
  return toolCalls.map((call) => ({ id: call.id, name: call.name, arguments: shownArguments(call) }));
}
