import type { CallerTools, CallResults } from "./caller-tools.ts";
import type { ModelOptions } from "./model-options.ts";
import type { Picture } from "./picture.ts";
import type { RetrievalMode, Attachment, StepKind } from "./state.ts";

/** A user's message to answer. Ids have 1 to 200 characters. */
export interface TurnInput {
  /** Default `default`. */
  tenantId?: string;
  userId: string;
  /** A new id begins a new conversation. */
  sessionId: string;
  /** Empty only beside pictures. */
  message: string;
  /** Pictures kept with the message and shown to the model: see `readPicture`. Default: none. */
  pictures?: Picture[];
  /** Text beside the message, for this turn's prompt alone. Default: none. */
  attachments?: Attachment[];
  /** The application's words to the model in this turn, after the service's own instructions. They become no memory. Default: none. */
  instructions?: string;
  /** Tools that the caller runs: a call of one ends the turn with `waiting`. Default: none. */
  callerTools?: CallerTools | null;
  /** How the model is called. Default: as the service or the agent has it. */
  modelOptions?: ModelOptions | null;
  /** The conversation's last answer: the turn continues it, and the stored answer grows. `message`: its question. */
  continues?: string | null;
  /** Results for the calls that ended the turn of `continues`: the new answer replaces that one. */
  callResults?: CallResults | null;
  /** The id of a user's message: the turn starts a new branch before it. Default: at the end of the path. */
  editOf?: string | null;
  /** The id of an answer to give again on a new branch. `message`: its question. */
  regenerate?: string | null;
  /** The id of a message: the turn starts a new branch after it. */
  behind?: string | null;
  /** The id of a user's message to answer again on a new branch. `message`: its words. */
  again?: string | null;
  /** False: the turn reads memory and leaves none. Its messages are listed and marked. Default true. */
  remember?: boolean;
  /** False: both messages are deleted when the turn ends; needs `remember: false`. Default true. */
  store?: boolean;
  /** Facts of the request, kept with the turn's outcome. Default: none. */
  asked?: Record<string, unknown> | null;
  /** The agent, model and the like that the caller named: both messages keep them. Default: nothing. */
  chosen?: Record<string, string> | null;
  /** Somebody can answer questions, and the turn may end with `waiting`. Default false: each question counts as unanswered. */
  interactive?: boolean;
  /** `stepping`: the turn waits before every call of the model or a tool; needs `interactive`. Default `normal`. */
  execution?: "normal" | "stepping";
  /** Where `stepping` waits. Default: before all. */
  stopsBefore?: StepKind[] | null;
  /** Adds the `execution_log` events. Default false. */
  debug?: boolean;
  /** Default: null, the knowledge base's. */
  agentType?: RetrievalMode | null;
  /** Default: null, the turn is routed. */
  requestedKbPrefix?: string | null;
  /** The name of a model: see `chooseModels`. Default: null, the agent's or the service's. */
  requestedModel?: string | null;
  /** The name of an agent. Default: null, the turn is routed. */
  requestedAgent?: string | null;
}

/** Where a turn leaves the path. At most one is set. */
export type TakenBack = Pick<TurnInput, "editOf" | "regenerate" | "behind" | "again">;

export const wayOf = (turn: TakenBack) =>
  (["editOf", "regenerate", "behind", "again"] as const).find((way) => typeof turn[way] === "string");

export const isTakingBack = (turn: TakenBack): boolean => wayOf(turn) !== undefined;
