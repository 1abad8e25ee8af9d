import { isDeepStrictEqual } from "node:util";
import type { ToolCallEvent, TurnEvent } from "../../turn/events.ts";
import type { Question } from "../../turn/question.ts";

/** A part of a UI message stream of the AI SDK: https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol */
export type UiPart = { type: string } & Record<string, unknown>;

/** Passages are pieces of documents, as text. */
const SOURCE_TYPE = "text/plain";

type Call = Pick<ToolCallEvent, "call_id" | "path" | "name" | "arguments">;

const isOf = (call: Call, { path }: Question): boolean => (call.path.length < 2 && path.length < 2) || isDeepStrictEqual(call.path, path);

/** Translates the events of one turn; its answer is one message with the turn's id. `earlier`: calls without a result that it shows already. */
export function makeUiParts(turnId: string, earlier: readonly Call[] = []) {
  /** The open piece of text or reasoning, which must end before anything else begins. */
  let open: { kind: "text" | "reasoning"; id: string } | null = null;
  let pieces = 0;
  const calls = new Map<string, Call>(earlier.map((call) => [call.call_id, call]));

  function close(): UiPart[] {
    const ended = open ? [{ type: `${open.kind}-end`, id: open.id }] : [];
    open = null;
    return ended;
  }

  function say(kind: "text" | "reasoning", delta: string): UiPart[] {
    const before: UiPart[] = [];
    if (open?.kind !== kind) {
      before.push(...close());
      open = { kind, id: `${kind}-${++pieces}` };
      before.push({ type: `${kind}-start`, id: open.id });
    }
    return [...before, { type: `${kind}-delta`, id: open.id, delta }];
  }

  const beside = (...parts: UiPart[]): UiPart[] => [...close(), ...parts];
  const data = (name: string, content: unknown, id?: string): UiPart[] =>
    beside({ type: `data-${name}`, ...(id === undefined ? {} : { id }), data: content });

  /** The call that a permission is about: the newest one without a result of that agent and tool, first with the same arguments. */
  function callOf(asked: Question): string | undefined {
    const ofTool = [...calls.values()].filter((call) => call.name === asked.tool?.name && isOf(call, asked));
    return (ofTool.findLast((call) => isDeepStrictEqual(call.arguments, asked.tool?.arguments)) ?? ofTool.at(-1))?.call_id;
  }

  return {
    opening: (): UiPart[] => [{ type: "start", messageId: turnId }, { type: "start-step" }],
    of(event: TurnEvent): UiPart[] {
      switch (event.status) {
        case "token":
          return say("text", event.content);
        case "thought":
          return say("reasoning", event.content);
        case "tool_call": {
          const { call_id: toolCallId, name: toolName, arguments: input, agent, path } = event.content;
          calls.set(toolCallId, event.content);
          const ofMember = path.length > 1 ? { toolMetadata: { agent, path } } : {};
          return beside({ type: "tool-input-available", toolCallId, toolName, input, dynamic: true, ...ofMember });
        }
        case "tool_result": {
          const { call_id: toolCallId, ok, output } = event.content;
          calls.delete(toolCallId);
          if (ok) return beside({ type: "tool-output-available", toolCallId, output, dynamic: true });
          return beside({ type: "tool-output-error", toolCallId, errorText: output, dynamic: true });
        }
        case "permission_asked": {
          const { id: approvalId } = event.content;
          const toolCallId = callOf(event.content);
          if (toolCallId === undefined) return data("question", event.content, approvalId);
          return beside({ type: "tool-approval-request", approvalId, toolCallId });
        }
        case "clarification_asked":
        case "decision_asked":
          return data("question", event.content, event.content.id);
        case "notice":
          return data("notice", event.content);
        case "doom_loop_detected":
          return data("doom-loop", event.content);
        case "decision_rejected":
          return data("decision-rejected", event.content);
        case "plan":
          return data("plan", event.content, "plan");
        case "handoff":
          return data("handoff", event.content);
        case "context_compressed":
          return data("context-compressed", event.content);
        case "done": {
          const { conversation_id, message_id, completed, cut, usage, receipt, degraded, agent, model } = event.content;
          const sources = receipt.passages.map(({ id: sourceId, title }) => ({
            type: "source-document",
            sourceId,
            mediaType: SOURCE_TYPE,
            title,
          }));
          const messageMetadata = { conversation_id, message_id, completed, usage, degraded, agent, model };
          const finish = { type: "finish", finishReason: cut === "length" ? "length" : "stop", messageMetadata };
          return beside(...sources, { type: "data-receipt", data: receipt }, { type: "finish-step" }, finish);
        }
        case "waiting":
          return beside({ type: "finish-step" }, { type: "finish", finishReason: "tool-calls" });
        case "error": {
          const { code, message } = event.content;
          if (code === "turn_cancelled") return beside({ type: "abort", reason: message });
          return beside({ type: "error", errorText: `${code}: ${message}` });
        }
        case "route_decision":
        case "execution_log":
        case "permission_replied":
        case "clarification_answered":
        case "decision_answered":
          return []; // a UI message has no place for them
      }
    },
  };
}
