import type { BaseMessage } from "@langchain/core/messages";
import { makeEventLog } from "../../graph/event-log.ts";
import type { RunningTurn } from "../../graph/start-turn.ts";
import type { GraphStreamMode, GraphWatch } from "../../graph/stream-graph.ts";
import type { Picture } from "../../turn/picture.ts";
import type { Question } from "../../turn/question.ts";
import type { TurnEvent } from "../../turn/events.ts";
import type { ConversationState, ConversationUpdate } from "../../turn/state.ts";
import {
  type CheckpointChunk,
  type GraphEvent,
  isShownMessage,
  shownMetadata,
  shownOfSubgraph,
  shownUpdate,
  type TaskChunk,
  toShownCheckpoint,
  toShownEvent,
  toShownTask,
} from "./shown-chunks.ts";
import { makeActs } from "./thread-messages.ts";
import { toInterrupt } from "./thread-state.ts";
import { contentWith, type MessageDict, shownFields, type ThreadValues, toMessageDict, withMessages } from "./thread-values.ts";

export const STREAM_MODES = [
  "values",
  "updates",
  "messages",
  "messages-tuple",
  "custom",
  "tasks",
  "checkpoints",
  "debug",
  "events",
  "tools",
] as const;
export type StreamMode = (typeof STREAM_MODES)[number];
export const isServedMode = (mode: string): mode is StreamMode => (STREAM_MODES as readonly string[]).includes(mode);

/** One event of a run's stream, as it is sent. `mode`: what a client must ask for to get it; null: always sent. */
export interface Frame {
  mode: StreamMode | null;
  event: string;
  /** JSON in one line. */
  data: string;
}

export interface RunFrames {
  watch: GraphWatch;
  batches: () => AsyncGenerator<Frame[], void>;
  /** The state's values as the stream last told them. */
  values: () => ThreadValues;
}

const GRAPH_MODES: Readonly<Record<StreamMode, readonly GraphStreamMode[]>> = {
  values: ["values"],
  updates: ["updates"],
  messages: ["messages"],
  "messages-tuple": ["messages"],
  custom: [],
  tasks: ["tasks"],
  checkpoints: ["checkpoints"],
  debug: ["debug"],
  events: ["events"],
  tools: [],
};

interface DebugChunk {
  type: "checkpoint" | "task" | "task_result";
  payload: unknown;
}

export interface RunFramesParts {
  threadId: string | null;
  modes: readonly StreamMode[];
  leftOut?: readonly string[];
  subgraphs: boolean;
  earlier: readonly MessageDict[];
  /** The user's message as the request has it, until it is stored. */
  said: MessageDict | null;
  done?: readonly MessageDict[];
  asked?: Question["tool"];
  /** The pictures of the user's message. They are not shown before it is stored. */
  pictures?: readonly Picture[];
}

/** Records what a run streams in LangGraph's protocol. Frames are written once, for any number of readers. */
export function makeRunFrames(parts: RunFramesParts): RunFrames {
  const { threadId, modes, leftOut = [], subgraphs, earlier, said, pictures = [] } = parts;
  const wanted = new Set(modes);
  const acts = makeActs(parts.done, parts.asked);
  const log = makeEventLog<Frame>();
  let values: ThreadValues = { messages: withMessages(earlier, said ? [said] : []) };
  let state: Partial<ConversationState> = {};
  let userMessageId: string | undefined;
  const partial = new Map<string, string>();
  let lastMetadata = { of: null as unknown, json: "{}" };

  function add(mode: StreamMode | null, event: string, data: unknown, namespace: readonly string[] = []): void {
    const name = namespace.length === 0 ? event : `${event}|${namespace.join("|")}`;
    log.append({ mode, event: name, data: typeof data === "string" ? data : JSON.stringify(data) });
  }

  /** It is the same object for all tokens of a call. */
  function metadataJson(metadata: unknown): string {
    if (lastMetadata.of === metadata) return lastMetadata.json;
    const json = JSON.stringify(shownMetadata(metadata as object));
    lastMetadata = { of: metadata, json };
    return json;
  }

  /** A client knows its own message by the id it gave, and takes it for another under ours. */
  function toShown(message: BaseMessage): MessageDict {
    const dict = toMessageDict(message);
    return said && dict.id === userMessageId ? { ...dict, ...(said.id ? { id: said.id } : {}), content: saidContent() } : dict;
  }

  function toValues(newest: ConversationState): ThreadValues {
    state = newest;
    userMessageId = state.currentMessageId;
    return { ...values, ...shownFields(newest), messages: messagesOf(newest) };
  }

  /** Before the first step there is no state. */
  function messagesOf(state: Partial<ConversationState>): MessageDict[] {
    const own = state.messages ?? [];
    const [asked, ...answers] = own.length > 0 ? own.map(toShown) : ownMessage(state);
    return withMessages(earlier, asked ? [asked, ...acts.done(), ...answers] : []);
  }

  function ownMessage({ currentMessageId }: Partial<ConversationState>): MessageDict[] {
    if (!said) return [];
    return [{ ...said, id: said.id || currentMessageId === undefined ? said.id : currentMessageId, content: saidContent() }];
  }

  function saidContent(): unknown {
    const { content } = said ?? {};
    const shown = pictures.map(({ url, file }) => ({ url: file ? null : url }));
    return typeof content === "string" ? contentWith(content, shown, userMessageId) : content;
  }

  function addMessage([message, metadata]: [BaseMessage, unknown], namespace: readonly string[]): void {
    if (!isShownMessage(message)) return; // the caller has sent the others
    const dict = toMessageDict(message);
    if (wanted.has("messages-tuple")) add("messages-tuple", "messages", `[${JSON.stringify(dict)},${metadataJson(metadata)}]`, namespace);
    if (!wanted.has("messages") || typeof dict.content !== "string") return;
    const id = dict.id ?? "";
    if (!partial.has(id)) add("messages", "messages/metadata", `{${JSON.stringify(id)}:{"metadata":${metadataJson(metadata)}}}`);
    partial.set(id, (partial.get(id) ?? "") + dict.content);
    add("messages", "messages/partial", [{ ...dict, type: "ai", content: partial.get(id) }]);
  }

  const shownTask = (task: TaskChunk): object => toShownTask(task, toShown);
  const shownCheckpoint = (chunk: CheckpointChunk): object => {
    return toShownCheckpoint(chunk, { threadId, values: { ...shownFields(chunk.values), messages: messagesOf(chunk.values) } });
  };

  function onChunk(mode: GraphStreamMode, chunk: unknown, namespace: readonly string[]): void {
    if (mode === "messages") return addMessage(chunk as [BaseMessage, unknown], namespace);
    if (namespace.length > 0 && mode === "values") return add("values", "values", shownOfSubgraph(chunk), namespace);
    if (mode === "values") {
      values = toValues(chunk as ConversationState);
      if (wanted.has("values") && !(chunk as ConversationState).question) add("values", "values", values);
    } else if (mode === "updates") {
      for (const [node, written] of Object.entries(chunk as Record<string, ConversationUpdate | string | null>)) {
        if (typeof written !== "object" || written === null) continue; // a member's answer: the result of its call has it
        if ("question" in written && written.question) continue; // an interrupted node has written nothing
        add("updates", "updates", { [node]: namespace.length > 0 ? shownOfSubgraph(written) : shownUpdate(written, toShown) }, namespace);
      }
    } else if (mode === "tasks") add("tasks", "tasks", shownTask(chunk as TaskChunk), namespace);
    else if (mode === "checkpoints") add("checkpoints", "checkpoints", shownCheckpoint(chunk as CheckpointChunk));
    else if (mode === "events") add("events", "events", toShownEvent(chunk as GraphEvent, toShown));
    else {
      const { payload, ...debug } = chunk as DebugChunk;
      const isCheckpoint = debug.type === "checkpoint";
      const shown = isCheckpoint ? shownCheckpoint(payload as CheckpointChunk) : shownTask(payload as TaskChunk);
      add("debug", "debug", { ...debug, payload: shown }, namespace);
    }
  }

  function onEvent(event: TurnEvent): void {
    if (wanted.has("custom")) add("custom", "custom", event);
    const act = acts.take(event, state.turnId ?? "");
    if (act && wanted.has("tools")) add("tools", "tools", act);
    if (event.status === "waiting") {
      const interrupts = { __interrupt__: [toInterrupt(event.content.question)] };
      values = { ...values, messages: messagesOf(state), ...interrupts };
      add("updates", "updates", interrupts);
      add("values", "values", values);
    } else if (event.status === "error") {
      add(null, "error", { error: event.content.code, message: event.content.message });
    } else if (event.status === "done" && wanted.has("messages")) {
      add("messages", "messages/complete", values.messages?.slice(-1) ?? []);
    }
    if (event.status === "waiting" || event.status === "error" || event.status === "done") log.end();
  }

  if (leftOut.length > 0) {
    const message = `Left out of this stream: ${leftOut.join(", ")}. There are ${STREAM_MODES.join(", ")}.`;
    add(null, "custom", { status: "notice", content: { code: "stream_mode_missing", message } });
  }
  const graphModes = [...new Set<GraphStreamMode>(["values", ...modes.flatMap((mode) => GRAPH_MODES[mode])])];
  return {
    watch: { modes: graphModes, subgraphs, onChunk, onEvent },
    batches: () => log.readBatches(),
    values: () => values,
  };
}

const framesOfTurns = new WeakMap<GraphWatch, RunFrames>();

/** Lets the frames be found again by the turn. */
export function keepFrames(frames: RunFrames): RunFrames {
  framesOfTurns.set(frames.watch, frames);
  return frames;
}

/** Null: nobody watches the run of this turn. */
export const framesOf = (turn: RunningTurn | undefined): RunFrames | null => (turn?.watch ? (framesOfTurns.get(turn.watch) ?? null) : null);
