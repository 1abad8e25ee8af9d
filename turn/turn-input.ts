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
  /** Kept with the message, and shown to the model: see `readPicture`. Default: none. */
  pictures?: Picture[];
  /** Text beside the message, for this turn's prompt alone. Default: none. */
  attachments?: Attachment[];
  /** What the application tells the model in this turn, behind the service's own instructions. No memory; default: nothing. */
  instructions?: string;
  /** Tools that the caller runs: the turn ends with `waiting` when the model calls one. Default: none. */
  callerTools?: CallerTools | null;
  /** How the model is called. Default: as the service or the agent has it. */
  modelOptions?: ModelOptions | null;
  /** The conversation's last answer, as it is known: the turn goes on with it, and the stored answer grows. `message`: its question. */
  continues?: string | null;
  /** Of the calls with which the turn of `continues` has ended: the new answer takes the place of that one. */
  callResults?: CallResults | null;
  /** The id of a message of the user in this conversation: the turn leaves before it, on a new branch. Default: at the end of the path. */
  editOf?: string | null;
  /** The id of an answer in this conversation, which is given again on a new branch. `message`: its question. */
  regenerate?: string | null;
  /** The id of a message in this conversation: the turn leaves the path behind it, on a new branch. */
  behind?: string | null;
  /** The id of a message of the user in this conversation, which is answered again on a new branch. `message`: its words. */
  again?: string | null;
  /** False: the turn is answered with memory and leaves none. Its messages are listed, and marked. Default true. */
  remember?: boolean;
  /** False: both messages are deleted when the turn ends. Go with `remember: false`. Default true. */
  store?: boolean;
  /** Facts of the request that are kept with the turn's outcome. Default: none. */
  asked?: Record<string, unknown> | null;
  /** What the caller named of agent, model and the like: both messages keep it. Default: nothing. */
  chosen?: Record<string, string> | null;
  /** Somebody can be asked, and the turn may end with `waiting`. Default false: every question is answered at once as if nobody did. */
  interactive?: boolean;
  /** `stepping`: the turn waits before every step, a call of the model or of a tool; go with `interactive`. Default `normal`. */
  execution?: "normal" | "stepping";
  /** Before which steps `stepping` waits. Default: all. */
  stopsBefore?: StepKind[] | null;
  /** Adds the `execution_log` events. Default false. */
  debug?: boolean;
  /** Default: null, that of the knowledge base. */
  agentType?: RetrievalMode | null;
  /** Default: null, the turn is routed. */
  requestedKbPrefix?: string | null;
  /** The name of a model: see `chooseModels`. Default: null, that of the agent or the service. */
  requestedModel?: string | null;
  /** The name of an agent. Default: null, the turn is routed. */
  requestedAgent?: string | null;
}

/** Where a turn leaves the path. One of them is an id, if any is. */
export type TakenBack = Pick<TurnInput, "editOf" | "regenerate" | "behind" | "again">;

export const wayOf = (turn: TakenBack) =>
  (["editOf", "regenerate", "behind", "again"] as const).find((way) => typeof turn[way] === "string");

export const isTakingBack = (turn: TakenBack): boolean => wayOf(turn) !== undefined;
