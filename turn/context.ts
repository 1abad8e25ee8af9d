import type { Callbacks } from "@langchain/core/callbacks/manager";
import { z } from "zod";
import { AppError } from "../errors/app-error.ts";
import type { NodeEvent, Notice } from "./events.ts";
import type { ResumedTurn } from "./resumed-turn.ts";
import type { ConversationState, ConversationUpdate } from "./state.ts";

export const TURN_DEFAULTS = {
  /** In milliseconds. */
  leaseMs: 15_000,
  storeMs: 30_000,
  memoryReadTimeoutMs: 800,
  topK: 3,
  episodeTokens: 1_000,
  toolTimeoutMs: 60_000,
  /** Milliseconds that an answer waits for a summary that makes room. */
  compactionMs: 15_000,
  passages: 5,
  scope: "user",
} as const;

/** The most characters of a service's, a knowledge base's or a caller's instructions. */
export const LONGEST_INSTRUCTIONS = 20_000;

/**
 * What a turn does in a busy conversation: `refuse` fails, `enqueue` waits in line, `interrupt` stops the other turn, `cancel_waiting` ends
 * one that waits for an answer and fails otherwise.
 */
export const OnBusy = z.enum(["refuse", "enqueue", "interrupt", "cancel_waiting"]);
export type OnBusy = z.infer<typeof OnBusy>;

/** An Idempotency-Key, as hashes. One turn of a user holds it at a time. */
export interface TurnKey {
  keyHash: string;
  bodyHash: string;
  /** The attempt whose message is answered again, or null. */
  earlier: EarlierAttempt | null;
}

export interface EarlierAttempt {
  turnId: string;
  /** Whether it was stored at look-up. */
  hadOutcome: boolean;
  /** It ran and ended in this process. Its lease may be taken over. */
  isOverHere: boolean;
}

/** Another turn took the key: look it up again. */
export class KeyTaken extends AppError {
  constructor() {
    super("conversation_busy", "A turn with this Idempotency-Key has begun meanwhile. Send the request again to get its answer.");
  }
}

/** Milliseconds since the turn began. */
export interface TurnProgress {
  totalMs: number;
  firstTokenMs: number | null;
  started: Record<string, number>;
  notices: Notice[];
  characters: number;
}

/** LangGraph hands it on unread. */
const opaque = <Value>(): z.ZodType<Value> => z.any();

/** The context of one request in LangGraph. Studio gives none. */
export const TurnContext = z.object({
  turnId: z.uuid().optional(),
  onBusy: OnBusy.optional(),
  /** Stops the model; persist still runs. Aborting the LangGraph run would skip it. */
  signal: opaque<AbortSignal>().optional(),
  /** Replaces LangGraph's custom stream. */
  onEvent: opaque<(event: NodeEvent) => void>().optional(),
  /** Receives the causes, too. */
  onError: opaque<(error: AppError) => void>().optional(),
  key: opaque<TurnKey>().optional(),
  resumed: opaque<ResumedTurn>().optional(),
  progress: opaque<() => TurnProgress>().optional(),
  onNodeStart: opaque<(name: string) => void>().optional(),
});
export type TurnContext = z.infer<typeof TurnContext>;

/** LangGraph's runtime. Without a stream there is no `writer`, in Studio no `context`. */
export interface TurnRuntime {
  context?: TurnContext | undefined;
  writer?: ((event: unknown) => void) | undefined;
  callbacks?: Callbacks | undefined;
  /** Only in debug: counts, names and times, never message text. */
  note?: ((facts: Record<string, unknown>) => void) | undefined;
}

/** Prefers `onEvent`, which is faster than LangGraph's custom stream. */
export function emit({ context, writer }: TurnRuntime, event: NodeEvent): void {
  const send = context?.onEvent ?? writer;
  send?.(event);
}

/** A step of a turn, as LangGraph calls it. */
export type Node = (state: ConversationState, runtime: TurnRuntime) => Promise<ConversationUpdate>;

/** Parts of a context in percent, 100 together. Others use what one does not need. */
export interface ContextShares {
  /** The system prompt with its instructions. */
  system: number;
  /** Core memory, summary, recalled exchanges and passages. */
  history: number;
  /** The user's message and the window before it. */
  recent: number;
  output: number;
}

export const DEFAULT_SHARES: Readonly<ContextShares> = { system: 10, history: 50, recent: 25, output: 15 };
