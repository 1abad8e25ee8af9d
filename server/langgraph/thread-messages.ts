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

interface Round {
  /** Its place among those of the agents that answered the turn. */
  place: number;
  agent: string;
  path: readonly string[];
  text: string;
}

/** An answer of a model with its calls. A member's is named after it. */
export function callsMessage(turnId: string, { place, agent, path, text }: Round, calls: ReturnType<typeof toCall>[]): MessageDict {
  const isMembers = path.length > 1;
  const id = `${turnId}-calls-${isMembers ? calls[0]?.id : place}`;
  return toMessageDict(new AIMessage({ id, content: text, tool_calls: calls, ...(isMembers ? { name: agent } : {}) }));
}

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

  function addCall(turnId: string, { agent, path }: Pick<Round, "agent" | "path">, call: ReturnType<typeof toCall>): void {
    const last = done.at(-1);
    const name = path.length > 1 ? agent : undefined;
    if (last?.type === "ai" && last["name"] === name) last["tool_calls"] = [...(last["tool_calls"] as unknown[]), call];
    else {
      const place = done.filter((message) => message.type === "ai" && message["name"] === undefined).length;
      done.push(callsMessage(turnId, { place, agent, path, text: "" }, [call]));
    }
  }

  return {
    done: (): readonly MessageDict[] => done,
    /** The event in the mode `tools`, or null. */
    take({ status, content }: TurnEvent, turnId: string): object | null {
      if (status === "tool_call") {
        const { call_id: toolCallId, agent, path, name, arguments: input } = content;
        addCall(turnId, content, toCall(toolCallId, name, input));
        return { event: "on_tool_start", toolCallId, name, input, agent, path };
      }
      if (status !== "tool_result") return null;
      const { call_id: toolCallId, agent, path, name, ok, output } = content;
      const isKnown = done.some(({ tool_calls: calls }) => (calls as { id: string }[] | undefined)?.some(({ id }) => id === toolCallId));
      if (!isKnown && asked?.name === name) addCall(turnId, content, toCall(toolCallId, name, asked.arguments));
      if (isKnown || asked?.name === name) done.push(outputMessage(turnId, { id: toolCallId, name, output, ok }));
      const of = { toolCallId, name, agent, path };
      return ok ? { event: "on_tool_end", ...of, output } : { event: "on_tool_error", ...of, error: output };
    },
  };
}

export function turnOf({ metadata: { turn_id: id } }: StoredMessage): string | null {
  return typeof id === "string" ? id : null;
}

type Act = Pick<StepOfMessage, "seq" | "task" | "agent" | "path" | "kind" | "name" | "callId" | "arguments" | "output" | "ok">;

/** The acts of agents in LangChain's form: models' answers with calls, and the tools' outputs. What a member did precedes its task's output. */
export function stepMessages(turnId: string, steps: readonly Act[]): MessageDict[] {
  const rounds: (Omit<Round, "place"> & { task: number; calls: Act[] })[] = [];
  for (const step of steps) {
    const { task, agent, path, kind, output, callId } = step;
    if (kind === "model" || kind === "agent") rounds.push({ task, agent, path, text: withoutThoughts(output ?? ""), calls: [] });
    else if (callId !== null) rounds.findLast((round) => round.task === task && round.agent === agent)?.calls.push(step);
  }
  const ofTasks = Map.groupBy(
    rounds.filter(({ calls }) => calls.length > 0),
    ({ task }) => task,
  );
  function ofTask(task: number): MessageDict[] {
    return (ofTasks.get(task) ?? []).flatMap((round, place) => {
      const outputs = round.calls.flatMap(({ seq, callId, name, output, ok }) => {
        const ended = output === null ? [] : [outputMessage(turnId, { id: callId ?? "", name, output, ok: ok !== false })];
        return [...ofTask(seq), ...ended];
      });
      const asked = round.calls.map(({ callId, name, arguments: given }) => toCall(callId ?? "", name, given));
      return [callsMessage(turnId, { ...round, place }, asked), ...outputs];
    });
  }
  return ofTask(0);
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
