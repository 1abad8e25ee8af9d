import { AIMessage, ToolMessage } from "@langchain/core/messages";
import type { TurnEvent } from "../../turn/events.ts";
import type { Question } from "../../turn/question.ts";
import { type MessageDict, toMessageDict, storedMessageDict } from "./thread-values.ts";
import type { StoredMessage } from "../../stores/postgres/conversations/message-store.ts";
import type { StepOfMessage } from "../../stores/postgres/agents/step-store.ts";
import type { OwnedConversation } from "../../turn/owner.ts";
import { withoutThoughts } from "../../text/split-thoughts.ts";
import type { Stores } from "../parts/open-stores.ts";

/** The arguments as an object, as LangChain has them. */
export const toCall = (id: string, name: string, given: unknown) => {
  const args = typeof given === "object" && given !== null ? (given as Record<string, unknown>) : { input: given };
  return { type: "tool_call" as const, id, name, args };
};

/** An answer of the model with its calls; `round`: its place in the turn. */
export const callsMessage = (turnId: string, round: number, content: string, calls: ReturnType<typeof toCall>[]): MessageDict =>
  toMessageDict(new AIMessage({ id: `${turnId}-calls-${round}`, content, tool_calls: calls }));

export function outputMessage(
  turnId: string,
  { id, name, output, ok }: { id: string; name: string; output: string; ok: boolean },
): MessageDict {
  const status = ok ? "success" : "error";
  return toMessageDict(new ToolMessage({ id: `${turnId}-${id}`, tool_call_id: id, name, content: output, status }));
}

/**
 * Collects an agent's acts in a running turn from its events. `before`: its acts before it waited; `asked`: the call that it then asked
 * for.
 */
export function makeActs(before: readonly MessageDict[] = [], asked?: Question["tool"]) {
  const done = [...before];

  function addCall(turnId: string, call: ReturnType<typeof toCall>): void {
    const last = done.at(-1);
    if (last?.type === "ai") last["tool_calls"] = [...(last["tool_calls"] as unknown[]), call];
    else done.push(callsMessage(turnId, done.filter(({ type }) => type === "ai").length, "", [call]));
  }

  return {
    done: (): readonly MessageDict[] => done,
    /** The event in the mode `tools`, or null. */
    take({ status, content }: TurnEvent, turnId: string): object | null {
      if (status === "tool_call") {
        const { call_id: toolCallId, name, arguments: input } = content;
        addCall(turnId, toCall(toolCallId, name, input));
        return { event: "on_tool_start", toolCallId, name, input };
      }
      if (status !== "tool_result") return null;
      const { call_id: toolCallId, name, ok, output } = content;
      const isKnown = done.some(({ tool_calls: calls }) => (calls as { id: string }[] | undefined)?.some(({ id }) => id === toolCallId));
      if (!isKnown && asked?.name === name) addCall(turnId, toCall(toolCallId, name, asked.arguments));
      if (isKnown || asked?.name === name) done.push(outputMessage(turnId, { id: toolCallId, name, output, ok }));
      return ok ? { event: "on_tool_end", toolCallId, name, output } : { event: "on_tool_error", toolCallId, name, error: output };
    },
  };
}

export function turnOf({ metadata: { turn_id: id } }: StoredMessage): string | null {
  return typeof id === "string" ? id : null;
}

/** An agent's acts in LangChain's form: the model's answers with calls, and the tools' outputs. */
export function stepMessages(
  turnId: string,
  steps: readonly Pick<StepOfMessage, "kind" | "name" | "callId" | "arguments" | "output" | "ok">[],
) {
  const rounds: { text: string; calls: (typeof steps)[number][] }[] = [];
  for (const step of steps) {
    if (step.kind === "model") rounds.push({ text: withoutThoughts(step.output ?? ""), calls: [] });
    else if (step.callId !== null) rounds.at(-1)?.calls.push(step);
  }
  return rounds.flatMap(({ text, calls }, round) => {
    if (calls.length === 0) return [];
    const outputs = calls.flatMap(({ callId, name, output, ok }) => {
      return output === null ? [] : [outputMessage(turnId, { id: callId ?? "", name, output, ok: ok !== false })];
    });
    const asked = calls.map(({ callId, name, arguments: given }) => toCall(callId ?? "", name, given));
    return [callsMessage(turnId, round, text, asked), ...outputs];
  });
}

/** Stored messages in LangChain's form, each after its turn's acts, or after a waiting question. */
export function makeStoredMessages({ stores }: { stores: Pick<Stores, "steps"> }) {
  return async function read(conversation: OwnedConversation, messages: readonly StoredMessage[]): Promise<MessageDict[][]> {
    const newest = [...new Set(messages.flatMap((message) => turnOf(message) ?? []))].toReversed();
    const byTurn = Map.groupBy(await stores.steps.ofTurns(conversation, newest), ({ turnId }) => turnId);
    return messages.map((message, index) => {
      const turnId = turnOf(message);
      const isAnswered = message.role === "user" && messages[index + 1]?.role === "assistant";
      const done = turnId === null || isAnswered ? [] : stepMessages(turnId, byTurn.get(turnId) ?? []);
      const said = storedMessageDict(message);
      return message.role === "user" ? [said, ...done] : [...done, said];
    });
  };
}

export type ReadStoredMessages = ReturnType<typeof makeStoredMessages>;
