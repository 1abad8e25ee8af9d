import type { StoredMessage } from "../../stores/postgres/conversations/message-store.ts";
import type { StepOfMessage } from "../../stores/postgres/agents/step-store.ts";
import type { OwnedConversation } from "../../turn/owner.ts";
import { withoutThoughts } from "../../text/split-thoughts.ts";
import type { Stores } from "../parts/open-stores.ts";
import { callsMessage, outputMessage, toCall } from "./run-acts.ts";
import { type MessageDict, storedMessageDict } from "./thread-values.ts";

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
