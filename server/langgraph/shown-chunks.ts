import { type BaseMessage, isBaseMessage } from "@langchain/core/messages";
import type { ConversationState, ConversationUpdate } from "../../turn/state.ts";
import { ASKING_NODE, toCheckpoint, toInterrupt } from "./thread-state.ts";
import { type MessageDict, shownFields, type ThreadValues, toMessageDict } from "./thread-values.ts";

// LangGraph streams the whole state: the tenant, the prompt, texts of other conversations. This translates it into the state that clients
// see.

type ToDict = (message: BaseMessage) => MessageDict;

/** A call's shown metadata: no internal ids, nothing of the caller. */
const SHOWN_METADATA = /^(tags|name|ls_.*|langgraph_(step|node|triggers|path|checkpoint_ns)|checkpoint_ns)$/;

export const shownMetadata = (metadata: object): object =>
  Object.fromEntries(Object.entries(metadata).filter(([name]) => SHOWN_METADATA.test(name)));

export const isShownMessage = ({ type }: BaseMessage): boolean => type === "ai" || type === "tool";

/** A node's writes; null when clients see none of them. */
export function shownUpdate(written: ConversationUpdate, toDict: ToDict): object | null {
  const { messages } = written as Partial<ConversationState>;
  const said = (messages ?? []).filter(isBaseMessage).filter(({ type }) => type !== "remove");
  const shown = { ...(said.length > 0 ? { messages: said.map(toDict) } : {}), ...shownFields(written) };
  return Object.keys(shown).length > 0 ? shown : null;
}

/** The messages of an agent's loop hold the prompt: the user's memory and the service's own words. */
export function shownOfSubgraph(written: unknown): object {
  const { messages } = written as { messages?: readonly BaseMessage[] };
  return { messages: (messages ?? []).filter(isBaseMessage).filter(isShownMessage).map(toMessageDict) };
}

export interface TaskChunk {
  metadata?: object;
  input?: Partial<ConversationState>;
  result?: ConversationUpdate;
}

export const toShownTask = ({ metadata, input, result, ...task }: TaskChunk, toDict: ToDict): object => ({
  ...task,
  ...(metadata === undefined ? {} : { metadata: shownMetadata(metadata) }),
  ...(input === undefined ? {} : { input: shownFields(input) }),
  ...(result === undefined ? {} : { result: shownUpdate(result, toDict) }),
});

/** LangGraph's thread is the run here. */
interface CheckpointConfig {
  configurable: { thread_id: string; checkpoint_id?: string };
}

export interface CheckpointChunk {
  config: CheckpointConfig;
  parentConfig?: CheckpointConfig;
  values: Partial<ConversationState>;
  metadata: { source: string; step: number };
  next: string[];
  tasks: { id: string; name: string }[];
}

/** A run's last checkpoint is the state after its turn, under the turn's id. Those between its steps are not kept. */
export function toShownCheckpoint(
  { config, parentConfig, values: state, metadata: { source, step }, next, tasks }: CheckpointChunk,
  { threadId, values }: { threadId: string | null; values: ThreadValues },
): object {
  const question = state.question ?? null;
  const { thread_id: runId, checkpoint_id: id = null } = config.configurable;
  const checkpoint = toCheckpoint(threadId ?? runId, next.length === 0 ? runId : id);
  const parent = parentConfig ? toCheckpoint(threadId ?? runId, parentConfig.configurable.checkpoint_id ?? null) : null;
  const waiting = question ? [{ id: runId, name: ASKING_NODE, interrupts: [toInterrupt(question)] }] : [];
  return {
    values,
    metadata: { source, step, thread_id: threadId, run_id: runId },
    next: question ? [ASKING_NODE] : next,
    tasks: [...tasks.map(({ id, name }) => ({ id, name, interrupts: [] })), ...waiting],
    checkpoint,
    parent_checkpoint: parent,
    config: { configurable: checkpoint },
    parent_config: parent && { configurable: parent },
  };
}

/** An event of LangChain's `streamEvents`. */
export interface GraphEvent {
  event: string;
  metadata?: object;
  data: { input?: unknown; output?: unknown; chunk?: unknown };
}

/** Excludes prompts and what the caller sent. */
function shownData(given: unknown, toDict: ToDict): unknown {
  if (isBaseMessage(given)) return isShownMessage(given) ? toDict(given) : null;
  if (typeof given !== "object" || given === null || Array.isArray(given)) return null;
  const { messages, ...fields } = given as Partial<ConversationState>;
  const said: readonly unknown[] = Array.isArray(messages) ? messages : [];
  const shown = said.filter((one) => isBaseMessage(one)).filter(isShownMessage);
  return shownUpdate({ ...fields, messages: shown }, toDict);
}

export function toShownEvent({ data, metadata = {}, ...event }: GraphEvent, toDict: ToDict): object {
  const { input, ...results } = data;
  const isOfModel = event.event.startsWith("on_chat_model") || event.event.startsWith("on_llm");
  const shown = isOfModel || input === undefined ? results : { input, ...results };
  const entries = Object.entries(shown).map(([name, value]): [string, unknown] => [name, shownData(value, toDict)]);
  return { ...event, metadata: shownMetadata(metadata), data: Object.fromEntries(entries) };
}
