import type { Callbacks } from "@langchain/core/callbacks/manager";
import { z } from "zod";
import type { AppError } from "../errors/app-error.ts";
import type { TurnKey } from "./key.ts";
import type { NodeEvent, Notice } from "./events.ts";

/** What a turn does when another holds the conversation: it fails with `conversation_busy`, or waits in line. */
export const OnBusy = z.enum(["refuse", "enqueue"]);
export type OnBusy = z.infer<typeof OnBusy>;

/** The context of one request, which LangGraph hands to every node. Every field is optional: Studio gives none. */
export const TurnContext = z.object({
  turnId: z.uuid().optional(),
  onBusy: OnBusy.optional(),
  signal: z.any().optional(),
  onEvent: z.any().optional(),
  onError: z.any().optional(),
  key: z.any().optional(),
  progress: z.any().optional(),
  onNodeStart: z.any().optional(),
});

/** How far a turn has come, in milliseconds since it began. `firstTokenMs` is null before the first token. */
export interface TurnProgress {
  totalMs: number;
  firstTokenMs: number | null;
  /** The start of each node. */
  started: Record<string, number>;
  notices: Notice[];
}

export interface TurnContext {
  turnId?: string | undefined;
  onBusy?: OnBusy | undefined;
  /** Cancels the turn: the model stops, and persist still stores what there is. Aborting the LangGraph run would skip persist. */
  signal?: AbortSignal | undefined;
  /** Receives the nodes' events instead of LangGraph's custom stream. */
  onEvent?: ((event: NodeEvent) => void) | undefined;
  /** Receives every failure with its cause, which `error` of the state lacks. */
  onError?: ((error: AppError) => void) | undefined;
  /** The Idempotency-Key of the message. */
  key?: TurnKey | undefined;
  progress?: (() => TurnProgress) | undefined;
  onNodeStart?: ((name: string) => void) | undefined;
}

/** What nodes use of LangGraph's runtime. There is no `writer` without a stream, and no `context` in Studio. */
export interface TurnRuntime {
  context?: TurnContext | undefined;
  writer?: ((event: unknown) => void) | undefined;
  /** Tracers and Studio's token stream, which follow the model call. */
  callbacks?: Callbacks | undefined;
  /** Adds facts to the node's entry in the execution log, only in debug: counts, names and times, never message text. */
  note?: ((facts: Record<string, unknown>) => void) | undefined;
}

/** Sends an event to `onEvent`, else to LangGraph's custom stream, which takes 20 µs longer. Without both nobody receives it. */
export function emit({ context, writer }: TurnRuntime, event: NodeEvent): void {
  const send = context?.onEvent ?? writer;
  send?.(event);
}
