import type { FilledForm } from "./elicited-form.ts";
import type { Notice } from "./events.ts";
import type { Picture } from "./picture.ts";
import type { AnswerValue, Question } from "./question.ts";
import type { ConversationState, RouteDecision } from "./state.ts";
import type { Cost, TurnUsage } from "./usage.ts";

/** A call that has not run, in the words of the model. `seq`: the number of its step. */
export interface PendingCall {
  seq: number;
  id: string;
  name: string;
  arguments: string;
  /** What the server has asked during a call that is made again. The last form may be open. */
  forms?: FilledForm[];
  /** The how many-th call of its tool in the turn. */
  nth?: number;
  /** The rule that corrected its arguments. */
  correctedBy?: string;
}

/** The fields of the state that the caller of a turn writes. The message itself is stored. */
const GIVEN = [
  "attachments",
  "instructions",
  "requestedModel",
  "modelOptions",
  "agentType",
  "debug",
  "remember",
  "store",
  "asked",
  "chosen",
  "interactive",
  "execution",
  "stopsBefore",
  "callerTools",
  "continued",
  "agentPath",
  "namesAgent",
  "handedTo",
] as const satisfies (keyof ConversationState)[];
type Given = Pick<ConversationState, (typeof GIVEN)[number]> & { requestedAgent: string; requestedKbPrefix: string };

/** What the request with an answer says anew: it takes the place of what the turn began with. */
export type GivenAnew = Pick<Given, "instructions" | "requestedModel" | "modelOptions" | "callerTools" | "interactive"> &
  Partial<Pick<Given, "asked" | "requestedAgent" | "requestedKbPrefix">>;

export interface TurnSoFar {
  usage: TurnUsage;
  steps: number;
  /** The names of called tools. */
  called: string[];
  /** The models that answered, in order. */
  models: string[];
  /** Milliseconds that it ran, without its waiting. */
  elapsedMs: number;
  /** Earlier calls no longer count as repeated. */
  loopsFrom?: number;
  /** It stops before every step. */
  isStepping?: boolean;
  /** With its members. Missing: nothing yet. */
  spent?: Spent;
}

/** What models took. `cost` is null when a price is unknown. */
export interface Spent {
  tokens: number;
  cost: Cost;
}

export const NOTHING_SPENT: Spent = { tokens: 0, cost: { input_usd: 0, output_usd: 0 } };

/** Where the run of an agent stands, besides its steps. */
export interface RunState {
  /** What the question is about, then calls that wait behind it. Without a question: the calls that somebody is to be asked about. */
  pending: PendingCall[];
  /** What somebody is asked about besides what the model asks: a repeated call, the next step, or a call that a rule has asked about. */
  about?: "loop" | "step" | "rule";
  end?: string | null;
  elapsedMs: number;
  loopsFrom?: number;
  /** Without its members. */
  spent?: Spent;
}

/** What a turn needs to go on, besides what is stored of it anyway: question, steps and memory are read again. */
export interface WaitingState extends Pick<RunState, "pending" | "about" | "end" | "spent"> {
  given: Given;
  routeDecision: RouteDecision;
  soFar: TurnSoFar;
  /** The runs of members that have not ended, by the step that gave the task. */
  members?: Record<string, RunState>;
  /** The step of the task whose run asks. Missing: the agent that answers asks. */
  asks?: number;
  /** The agents that answered before a handoff. */
  handed?: string[];
  notices: Notice[];
  /** The sent tokens. */
  characters: number;
  /** How often it has asked. */
  leg: number;
}

/** Where a run stood: that of the agent that answers (task 0), or of a task. Undefined: it had not begun. */
export function runStateOf({ members, soFar, ...lead }: WaitingState, task: number): RunState | undefined {
  if (task > 0) return members?.[task];
  const { elapsedMs, loopsFrom } = soFar;
  const { pending, about, end = null, spent } = lead;
  return {
    pending,
    end,
    elapsedMs,
    ...(about ? { about } : {}),
    ...(loopsFrom === undefined ? {} : { loopsFrom }),
    ...(spent ? { spent } : {}),
  };
}

/** The agent and the base of the turn stay, however it was routed. */
export function givenOf(state: ConversationState, agent: string): Given {
  const given = Object.fromEntries(GIVEN.map((field) => [field, state[field]])) as Pick<ConversationState, (typeof GIVEN)[number]>;
  return { ...given, requestedAgent: agent, requestedKbPrefix: state.kbPrefix };
}

export interface Answered {
  question: Question;
  /** A permission's call as it was shown, in the model's words. */
  asked: { name: string; arguments: string } | null;
  seq: number;
  value: AnswerValue;
  /** The person's own words. */
  text: string | null;
  by: "person" | "timeout";
}

/** What somebody has answered. */
export interface GivenAnswer {
  value: AnswerValue;
  /** The person's own words. */
  text: string | null;
  /** Allows the tool of the question to its agent for good. */
  allowAlways?: boolean;
  /** Replaces what the turn began with. */
  givenAnew?: GivenAnew | undefined;
}

/** A turn that goes on: its question is answered, or its process died. This process holds its conversation. */
export interface ResumedTurn {
  turnId: string;
  tenantId: string;
  userId: string;
  conversationId: string;
  sessionId: string;
  /** The user's message. */
  messageId: string;
  message: string;
  /** Null: its process died between two steps, or the turn was cancelled. */
  answered: Answered | null;
  /** It only ends. */
  isCancelled: boolean;
  state: WaitingState;
  /** The pictures in the caller's results. They are not stored: the model sees them until the turn asks again. Default: none. */
  pictures?: readonly Picture[];
  /** By the clock of `performance.now()`, no later than this process took it. */
  takenAt: number;
  /** Names this process and time: steps begin under it. */
  runner: string;
}
