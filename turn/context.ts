import type { Callbacks } from "@langchain/core/callbacks/manager";
import { z } from "zod";
import type { AppError } from "../errors/app-error.ts";
import type { TurnKey } from "./key.ts";
import type { NodeEvent, Notice } from "./events.ts";

/** What to do when another turn holds the conversation: `refuse` with conversation_busy, or wait in line. */
export const OnBusy = z.enum(["refuse", "enqueue"]);
export type OnBusy = z.infer<typeof OnBusy>;

/**
 * Facts of one request, handed to every node by LangGraph at run time. All optional: Studio gives none of them.
 * `signal` cancels the turn: it stops the model, and the turn still persists what there is (aborting the LangGraph run would skip that).
 */
export const TurnContext = z.object({
  turnId: z.uuid().optional(),
  onBusy: OnBusy.optional(),
  signal: z.any().optional(),
  onEvent: z.any().optional(),
  onError: z.any().optional(),
  key: z.any().optional(),
  told: z.any().optional(),
  onNode: z.any().optional(),
});

/** What a turn has told so far, for its outcome. Milliseconds since it began; `firstTokenMs` is null when no token came. */
export interface TurnProgress {
  totalMs: number;
  firstTokenMs: number | null;
  /** When each node began. */
  started: Record<string, number>;
  notices: Notice[];
}

export interface TurnContext {
  turnId?: string | undefined;
  onBusy?: OnBusy | undefined;
  signal?: AbortSignal | undefined;
  /** Takes the events of the nodes as they come, instead of LangGraph's custom stream. */
  onEvent?: ((event: NodeEvent) => void) | undefined;
  /** Hears of every failure with its cause, which `error` of the state does not have. */
  onError?: ((error: AppError) => void) | undefined;
  /** The Idempotency-Key that the turn begins with. */
  key?: TurnKey | undefined;
  told?: (() => TurnProgress) | undefined;
  /** Hears when a node begins. */
  onNode?: ((name: string) => void) | undefined;
}

/** What a node uses of the runtime that LangGraph hands it. Without a stream there is no `writer`, in Studio no `context`. */
export interface TurnRuntime {
  context?: TurnContext | undefined;
  writer?: ((event: unknown) => void) | undefined;
  /** Tracers and Studio's token stream, for the model call. */
  callbacks?: Callbacks | undefined;
  /** Takes what the execution log tells of this node; only in debug. Counts, names and times, never message text. */
  note?: ((facts: Record<string, unknown>) => void) | undefined;
}

/**
 * Sends an event to whoever runs this turn: to its own sink, else to LangGraph's custom stream (Studio), which costs 20 µs an event
 * more; to nobody when the graph is only invoked.
 */
export function emit({ context, writer }: TurnRuntime, event: NodeEvent): void {
  const send = context?.onEvent ?? writer;
  send?.(event);
}
