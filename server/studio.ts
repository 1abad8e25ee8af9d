import { isCommand } from "@langchain/langgraph";
import { asyncExitHook } from "exit-hook";
import { AppError } from "../errors/app-error.ts";
import type { ConversationGraph } from "../graph/build-graph.ts";
import { parseConfig, readEnvironment } from "./settings/config.ts";
import { openGraph, type OpenGraph } from "./service/open-graph.ts";
import { type StudioThread, toTurnInput } from "./langgraph/studio-input.ts";

/** For closing everything at the end of the process. */
const CLOSE_MS = 5_000;

interface OpenStudio extends Pick<OpenGraph, "graph" | "close"> {
  maxMessageChars: number;
}

/** One for the process, even if this module is loaded again. */
const ofProcess = globalThis as typeof globalThis & { conversationGraphOfStudio?: Promise<OpenStudio> };

type Stream = ConversationGraph["stream"];
type Options = NonNullable<Parameters<Stream>[1]>;

/** Aborts with the run. LangGraph would skip `persist` with the run's own signal: the answer would be lost, the conversation busy. */
function cancelledBy(signal: AbortSignal | undefined): AbortSignal {
  const cancellation = new AbortController();
  const cancel = (): void =>
    cancellation.abort(new AppError("turn_cancelled", "The run was cancelled. The part of the answer that exists is kept as incomplete."));
  if (signal?.aborted) cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  return cancellation.signal;
}

/** A copy of the graph for one request, since LangGraph's server sets a checkpointer on it. */
function forRequest({ graph: shared, maxMessageChars }: OpenStudio): ConversationGraph {
  const graph: ConversationGraph = shared.withConfig({});
  const streamTurn: Stream = graph.stream.bind(graph);

  async function findThread(options: Options | undefined): Promise<StudioThread> {
    const id = options?.configurable?.["thread_id"] as string | undefined;
    const isKept = typeof graph.checkpointer === "object";
    if (id === undefined || !isKept) return { id, earlier: {} };
    const state = await graph.getState({ configurable: options?.configurable ?? {} });
    return { id, earlier: state.values as StudioThread["earlier"] };
  }

  const stream = async (input: Parameters<Stream>[0], options: Options | undefined) => {
    // Without an input a run resumes.
    const isTurn = input !== null && typeof input === "object" && !isCommand(input);
    const turn = isTurn ? toTurnInput(input, await findThread(options), maxMessageChars) : input;
    const { signal, ...rest } = options ?? {};
    const context = { ...options?.context, signal: cancelledBy(signal) } as NonNullable<Options["context"]>;
    return streamTurn(turn, { ...rest, context });
  };
  return Object.assign(graph, { stream });
}

async function open(): Promise<OpenStudio> {
  const environment = { ...readEnvironment() };
  if (!environment["DATABASE_URL"] && !environment["DATA_DIR"]) environment["DATA_DIR"] = "memory://";
  const config = parseConfig(environment);
  return { ...(await openGraph(config)), maxMessageChars: config.MAX_MESSAGE_CHARS };
}

function openOnce(): Promise<OpenStudio> {
  if (ofProcess.conversationGraphOfStudio) return ofProcess.conversationGraphOfStudio;
  const opening = open();
  ofProcess.conversationGraphOfStudio = opening;
  opening.then(
    (opened) => asyncExitHook(() => opened.close(), { wait: CLOSE_MS }),
    () => delete ofProcess.conversationGraphOfStudio, // the next request tries again
  );
  return opening;
}

/**
 * The graph for LangGraph Studio, whose server calls this for every request. The first call opens it, the end of the process closes it.
 * Data stays in memory unless DATABASE_URL or DATA_DIR is set.
 */
export async function graph(): Promise<ConversationGraph> {
  return forRequest(await openOnce());
}
