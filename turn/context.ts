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
  toolTimeoutMs: 60_000,
  /** Milliseconds that an answer waits for a summary that makes room for it. */
  compactionMs: 15_000,
  passages: 5,
  scope: "user",
} as const;

/** The longest instructions of a service, a knowledge base or a caller, in characters. */
export const LONGEST_INSTRUCTIONS = 20_000;

/**
 * What a turn does while another holds the conversation: it is refused, waits in line, or stops the other one. `cancel_waiting` ends one that
 * waits for an answer, and is refused otherwise.
 */
export const OnBusy = z.enum(["refuse", "enqueue", "interrupt", "cancel_waiting"]);
export type OnBusy = z.infer<typeof OnBusy>;

/** An Idempotency-Key, as hashes. One turn of a user holds it at a time. */
export interface TurnKey {
  keyHash: string;
  bodyHash: string;
  /** The attempt whose message is answered again; null for a new message. */
  earlier: EarlierAttempt | null;
}

/** An attempt that failed or whose process died. */
export interface EarlierAttempt {
  turnId: string;
  /** Stored when it was looked up. */
  hadOutcome: boolean;
  /** It ran in this process and has ended. A lease that it still holds may be taken over. */
  isOverHere: boolean;
}

/** Another turn has the key by now: look it up again. */
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
  /** The characters of all tokens that were sent. */
  characters: number;
}

/** What LangGraph hands on without looking at it. */
const opaque = <Value>(): z.ZodType<Value> => z.any();

/** The context of one request in LangGraph. Studio gives none. */
export const TurnContext = z.object({
  turnId: z.uuid().optional(),
  onBusy: OnBusy.optional(),
  /** The model stops, and persist still runs. Aborting the LangGraph run would skip it. */
  signal: opaque<AbortSignal>().optional(),
  /** Instead of LangGraph's custom stream. */
  onEvent: opaque<(event: NodeEvent) => void>().optional(),
  /** Receives the causes, too. */
  onError: opaque<(error: AppError) => void>().optional(),
  key: opaque<TurnKey>().optional(),
  /** The turn goes on after its question was answered. */
  resumed: opaque<ResumedTurn>().optional(),
  progress: opaque<() => TurnProgress>().optional(),
  onNodeStart: opaque<(name: string) => void>().optional(),
});
export type TurnContext = z.infer<typeof TurnContext>;

/** LangGraph's runtime. There is no `writer` without a stream, and no `context` in Studio. */
export interface TurnRuntime {
  context?: TurnContext | undefined;
  writer?: ((event: unknown) => void) | undefined;
  /** Tracers and Studio's token stream. */
  callbacks?: Callbacks | undefined;
  /** Only in debug: counts, names and times, never message text. */
  note?: ((facts: Record<string, unknown>) => void) | undefined;
}

/** `onEvent` is 20 µs faster than LangGraph's custom stream. */
export function emit({ context, writer }: TurnRuntime, event: NodeEvent): void {
  const send = context?.onEvent ?? writer;
  send?.(event);
}

/** A step of a turn, as LangGraph calls it. */
export type Node = (state: ConversationState, runtime: TurnRuntime) => Promise<ConversationUpdate>;

/** Parts of a context in percent, 100 together. What one does not need goes to the others. */
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
