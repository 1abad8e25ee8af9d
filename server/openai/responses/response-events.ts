import type { ServerSentEvent } from "../../http/event-stream.ts";
import type { CompletionEvent } from "../completion-stream.ts";
import type { Namespaces } from "./response-request.ts";
import { answerItemId, callItemId, reasoningId, type ResponseName } from "./response-ids.ts";
import {
  answerItem,
  type Echo,
  type FunctionCall,
  type OutputItem,
  type OutputMessage,
  type ReasoningItem,
  type ResponseObject,
  toResponse,
} from "./response-object.ts";

type Open<Item> = { item: Item; at: number };

/**
 * Makes a response and its events from an answer's: each item is added, grows by deltas and is done. The official helpers need all of them.
 * A function of a namespace has its own name there. https://platform.openai.com/docs/api-reference/responses-streaming
 */
export function makeResponseEvents(name: ResponseName, echo: Echo, namespaces: Namespaces = new Map()) {
  const output: OutputItem[] = [];
  let message: Open<OutputMessage> | null = null;
  let reasoning: Open<ReasoningItem> | null = null;
  let thoughts = 0;
  let response: ResponseObject = toResponse(name, echo, { status: "in_progress", output: [] });
  let number = 0;

  const tell = (type: string, fields: object): ServerSentEvent => {
    return { event: type, data: JSON.stringify({ type, sequence_number: number++, ...fields }) };
  };
  const itemEvent = (type: string, { item, at }: Open<OutputItem>, fields: object = {}): ServerSentEvent =>
    tell(type, { item_id: item.id, output_index: at, ...fields });

  function add<Item extends OutputItem>(item: Item): Open<Item> {
    output.push(item);
    return { item, at: output.length - 1 };
  }

  function* think(delta: string): Generator<ServerSentEvent> {
    if (!reasoning) {
      const item: ReasoningItem = { id: reasoningId(name, ++thoughts), type: "reasoning", status: "in_progress", summary: [] };
      reasoning = add(item);
      yield tell("response.output_item.added", { output_index: reasoning.at, item });
      item.summary = [{ type: "summary_text", text: "" }];
      yield itemEvent("response.reasoning_summary_part.added", reasoning, { summary_index: 0, part: item.summary[0] });
    }
    const [part] = reasoning.item.summary;
    if (part) part.text += delta;
    yield itemEvent("response.reasoning_summary_text.delta", reasoning, { summary_index: 0, delta });
  }

  function* endThought(status: OutputItem["status"]): Generator<ServerSentEvent> {
    if (!reasoning) return;
    const [part] = reasoning.item.summary;
    yield itemEvent("response.reasoning_summary_text.done", reasoning, { summary_index: 0, text: part?.text });
    yield itemEvent("response.reasoning_summary_part.done", reasoning, { summary_index: 0, part });
    reasoning.item.status = status;
    yield tell("response.output_item.done", { output_index: reasoning.at, item: reasoning.item });
    reasoning = null;
  }

  function* say(delta: string): Generator<ServerSentEvent> {
    yield* endThought("completed");
    if (!message) {
      const { content, ...item } = answerItem(answerItemId(name), "", "in_progress");
      message = add({ ...item, content: [] });
      yield tell("response.output_item.added", { output_index: message.at, item: message.item });
      message.item.content = content;
      yield itemEvent("response.content_part.added", message, { content_index: 0, part: content[0] });
    }
    const [part] = message.item.content;
    if (part) part.text += delta;
    yield itemEvent("response.output_text.delta", message, { content_index: 0, delta, logprobs: [] });
  }

  function* endMessage(status: OutputItem["status"]): Generator<ServerSentEvent> {
    if (!message) return;
    const [part] = message.item.content;
    yield itemEvent("response.output_text.done", message, { content_index: 0, text: part?.text, logprobs: [] });
    yield itemEvent("response.content_part.done", message, { content_index: 0, part });
    message.item.status = status;
    yield tell("response.output_item.done", { output_index: message.at, item: message.item });
    message = null;
  }

  function* call({ call: called, index }: Extract<CompletionEvent, { kind: "tool_call" }>): Generator<ServerSentEvent> {
    yield* endThought("completed");
    const id = callItemId(name, index + 1);
    const item: FunctionCall = {
      id,
      type: "function_call",
      status: "in_progress",
      call_id: called.id ?? id,
      ...(namespaces.get(called.name) ?? { name: called.name }),
      arguments: "",
    };
    const open = add(item);
    yield tell("response.output_item.added", { output_index: open.at, item });
    item.arguments = called.arguments;
    yield itemEvent("response.function_call_arguments.delta", open, { delta: item.arguments });
    yield itemEvent("response.function_call_arguments.done", open, { name: item.name, arguments: item.arguments });
    item.status = "completed";
    yield tell("response.output_item.done", { output_index: open.at, item });
  }

  function* end(state: Omit<Parameters<typeof toResponse>[2], "output">): Generator<ServerSentEvent> {
    const ofItems = state.status === "completed" ? "completed" : "incomplete";
    yield* endThought(ofItems);
    yield* endMessage(ofItems);
    response = toResponse(name, echo, { ...state, output });
    yield tell(`response.${state.status === "cancelled" ? "failed" : state.status}`, { response });
  }

  function framesOf(event: CompletionEvent): Generator<ServerSentEvent> {
    switch (event.kind) {
      case "text":
        return say(event.text);
      case "thought":
        return think(event.text);
      case "tool_call":
        return call(event);
      case "end":
        return end({ status: event.finishReason === "length" ? "incomplete" : "completed", usage: event.usage });
      case "error":
        return end({ status: event.error.code === "turn_cancelled" ? "cancelled" : "failed", error: event.error });
    }
  }

  return {
    opening: ["response.created", "response.in_progress"].map((type) => tell(type, { response })),
    of: (event: CompletionEvent): ServerSentEvent[] => [...framesOf(event)],
    response: (): ResponseObject => response,
  };
}
