import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { fitSteps, type TurnSteps } from "./prune-steps.ts";
import { assistantMessage } from "../../models/wire/assistant-message.ts";
import { fence } from "../../text/fence.ts";
import { withoutThoughts } from "../../text/split-thoughts.ts";
import type { Echo } from "../../turn/echo.ts";
import type { StepOfMessage } from "../../stores/postgres/agents/step-store.ts";

/** What a call says whose process died. */
const INTERRUPTED = JSON.stringify({
  error: "interrupted",
  message: "It is not known whether this call ran.",
  what_to_do: "Find out before you call it again, or say that you do not know.",
});

/** What a tool said, as data: it cannot close its tag or pose as a message. */
export function toolMessage(callId: string, name: string, output: string): ToolMessage {
  return new ToolMessage({ tool_call_id: callId, name, content: fence("tool_output", [{ text: output }]) });
}

/** A model's answer with its calls, and the results, as the model saw them. */
function toMessages({ steps }: TurnSteps): BaseMessage[] {
  const rounds: { text: string; echo: Echo | null; calls: TurnSteps["steps"][number][] }[] = [];
  for (const step of steps) {
    if (step.kind === "model") rounds.push({ text: withoutThoughts(step.output ?? ""), echo: step.echo, calls: [] });
    else if (step.callId !== null) rounds.at(-1)?.calls.push(step);
  }
  return rounds
    .filter(({ calls }) => calls.length > 0)
    .flatMap(({ text, echo, calls }) => [
      assistantMessage({
        text,
        echo,
        calls: calls.map(({ callId, name, arguments: given }) => ({ id: callId ?? "", name, arguments: given })),
      }),
      ...calls.map(({ callId, name, output, endedAt }) => {
        return toolMessage(callId ?? "", name, endedAt === null ? INTERRUPTED : (output ?? ""));
      }),
    ]);
}

/** Steps by question, in the order of the questions, the current one last. A turn without steps counts, too, but for one that only begins. */
export function groupByQuestion(steps: readonly StepOfMessage[], userMessageIds: readonly string[]): TurnSteps[] {
  const byQuestion = Map.groupBy(steps, ({ userMessageId }) => userMessageId);
  return userMessageIds
    .map((userMessageId) => ({ userMessageId, steps: byQuestion.get(userMessageId) ?? [] }))
    .filter((turn, index) => turn.steps.length > 0 || index < userMessageIds.length - 1);
}

/** The prompt with what earlier turns, and earlier attempts at this one, did between question and answer, as far as it fits into `room` tokens. */
export function withSteps(
  prompt: readonly BaseMessage[],
  turns: readonly TurnSteps[],
  { currentMessageId, room }: { currentMessageId: string; room: number },
): BaseMessage[] {
  const fitting = new Map(fitSteps(turns, room).map((turn) => [turn.userMessageId, turn]));
  return prompt.flatMap((message, index) => {
    const turn = fitting.get(index === prompt.length - 1 ? currentMessageId : (message.id ?? ""));
    return turn ? [message, ...toMessages(turn)] : [message];
  });
}
