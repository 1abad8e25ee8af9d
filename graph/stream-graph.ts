import { BaseCheckpointSaver, type CheckpointTuple } from "@langchain/langgraph";
import type { TurnEvent } from "../turn/events.ts";
import type { ConversationState } from "../turn/state.ts";
import type { ConversationGraph } from "./build-graph.ts";

/** Modes of LangGraph's own stream; `events` are those of `streamEvents`. */
export type GraphStreamMode = "values" | "updates" | "messages" | "tasks" | "checkpoints" | "debug" | "events";

/** Sees a run of the graph: LangGraph's stream in these modes, and the turn's events. */
export interface GraphWatch {
  modes: readonly GraphStreamMode[];
  /** Also what subgraphs stream. */
  subgraphs: boolean;
  /** `namespace` is empty but for a subgraph. */
  onChunk: (mode: GraphStreamMode, chunk: unknown, namespace: readonly string[]) => void;
  onEvent: (event: TurnEvent) => void;
}

type Put = Parameters<BaseCheckpointSaver["put"]>;

/** Keeps nothing: LangGraph reports checkpoints only to a saver. */
class PassingCheckpoints extends BaseCheckpointSaver {
  override getTuple(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
  override async *list(): AsyncGenerator<CheckpointTuple> {
    yield* [];
  }
  override put({ configurable }: Put[0], { id }: Put[1]): Promise<Put[0]> {
    return Promise.resolve({ configurable: { ...configurable, checkpoint_id: id } });
  }
  override putWrites(): Promise<void> {
    return Promise.resolve();
  }
  override deleteThread(): Promise<void> {
    return Promise.resolve();
  }
}

function withCheckpoints(graph: ConversationGraph): ConversationGraph {
  const watched: ConversationGraph = graph.withConfig({});
  watched.checkpointer = new PassingCheckpoints();
  return watched;
}

type Input = Parameters<ConversationGraph["invoke"]>[0];
type Context = NonNullable<NonNullable<Parameters<ConversationGraph["stream"]>[1]>["context"]>;
type Chunk = [namespace: string[], mode: GraphStreamMode, chunk: unknown];

/** Runs the graph in LangGraph's stream. Returns its last state, as `invoke` does. */
export async function streamGraph(
  graph: ConversationGraph,
  input: Input,
  context: Context & { turnId: string },
  { modes, subgraphs, onChunk }: GraphWatch,
): Promise<ConversationState> {
  const streamMode = [...new Set([...modes, "values" as const])].filter((mode) => mode !== "events");
  const isCheckpointed = modes.includes("checkpoints") || modes.includes("debug");
  const run = isCheckpointed ? withCheckpoints(graph) : graph;
  const options = { context, streamMode, subgraphs: true, configurable: { thread_id: context.turnId } };
  let last: unknown;
  const take = ([namespace, mode, chunk]: Chunk): void => {
    if (mode === "values" && namespace.length === 0) last = chunk;
    if (modes.includes(mode) && (subgraphs || namespace.length === 0)) onChunk(mode, chunk, namespace);
  };
  if (!modes.includes("events")) {
    for await (const chunk of await run.stream(input, options)) take(chunk as unknown as Chunk);
    return last as ConversationState;
  }
  let rootId: string | undefined;
  for await (const event of run.streamEvents(input, { ...options, version: "v2" })) {
    rootId ??= event.run_id;
    if (event.event === "on_chain_stream" && event.run_id === rootId) take(event.data.chunk as Chunk);
    else onChunk("events", event, []);
  }
  return last as ConversationState;
}
