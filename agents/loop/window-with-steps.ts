import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { assistantMessage } from "../../models/wire/assistant-message.ts";
import type { ConversationState } from "../../turn/state.ts";
import { HANDOFF } from "../team/handoff.ts";
import { fence } from "../../text/fence.ts";
import { withoutThoughts } from "../../text/split-thoughts.ts";
import type { Echo } from "../../turn/echo.ts";
import type { Step, StepOfMessage } from "../../stores/postgres/agents/step-store.ts";

/** The steps of one turn, which belong between a question and its answer. */
export interface TurnSteps {
  userMessageId: string;
  steps: readonly Step[];
}

/** The newest turns keep all outputs. */
const PROTECTED_TURNS = 2;
/** Before them the newest outputs stay, up to this many tokens. */
const KEPT_TOKENS = 40_000;
/** Less is not worth changing the cached beginning of the prompt. */
const LEAST_GAIN = 20_000;

const placeholder = ({ name, tokens }: Step): string => `[output of ${name} left out, ${tokens} tokens]`;
/** A skill's text holds for the rest of the talk. */
const isKept = ({ kind, name }: Step): boolean => kind !== "tool" || name === "load_skill";

/** Drops old outputs of tools, oldest turn first, when that gains enough. */
export function pruneSteps(turns: readonly TurnSteps[]): TurnSteps[] {
  const pruned = new Set<Step>();
  let tokens = 0;
  for (const { steps } of turns.slice(0, Math.max(0, turns.length - PROTECTED_TURNS)).toReversed()) {
    for (const step of steps.toReversed()) {
      if (isKept(step)) continue;
      tokens += step.tokens;
      if (tokens > KEPT_TOKENS) pruned.add(step);
    }
  }
  const gain = [...pruned].reduce((sum, step) => sum + step.tokens, 0);
  return gain < LEAST_GAIN ? [...turns] : leaveOut(turns, pruned);
}

function leaveOut(turns: readonly TurnSteps[], out: ReadonlySet<Step>): TurnSteps[] {
  return turns.map((turn) => ({
    ...turn,
    steps: turn.steps.map((step) => (out.has(step) ? { ...step, output: placeholder(step), tokens: 10 } : step)),
  }));
}

/** Tokens around a step's output: its name and arguments. */
const STEP_TOKENS = 30;
const stepsTokens = ({ steps }: TurnSteps): number => steps.reduce((sum, { tokens }) => sum + tokens + STEP_TOKENS, 0);

/** Fits the steps into `room` tokens: drops outputs first, then whole turns, oldest first. */
export function fitSteps(turns: readonly TurnSteps[], room: number): TurnSteps[] {
  let fitting = pruneSteps(turns);
  const isTooMuch = (): boolean => fitting.reduce((sum, turn) => sum + stepsTokens(turn), 0) > room;
  for (let index = 0; index < fitting.length && isTooMuch(); index++) {
    const outputs = new Set(fitting[index]?.steps.filter((step) => !isKept(step)));
    fitting = fitting.map((turn, at) => (at === index ? (leaveOut([turn], outputs)[0] ?? turn) : turn));
  }
  while (fitting.length > 0 && isTooMuch()) fitting = fitting.slice(1);
  return fitting;
}

/** The output of a call whose process died. */
const INTERRUPTED = JSON.stringify({
  error: "interrupted",
  message: "It is not known whether this call ran.",
  what_to_do: "Find out before you call it again, or say that you do not know.",
});

/** A tool's output as data: it cannot close its tag or pose as a message. */
export function toolMessage(callId: string, name: string, output: string): ToolMessage {
  return new ToolMessage({ tool_call_id: callId, name, content: fence("tool_output", [{ text: output }]) });
}

/** A model's answer with its calls, and the results, as the model saw them. */
function toMessages({ steps }: TurnSteps): BaseMessage[] {
  const rounds: { text: string; echo: Echo | null; calls: TurnSteps["steps"][number][] }[] = [];
  for (const step of steps) {
    if (step.kind === "model" || step.kind === "agent")
      rounds.push({ text: withoutThoughts(step.output ?? ""), echo: step.echo, calls: [] });
    else if (step.callId !== null) rounds.at(-1)?.calls.push(step);
  }
  return rounds
    .filter(({ calls }) => calls.length > 0)
    .flatMap(({ text, echo, calls }) => [
      assistantMessage({
        text,
        echo,
        calls: calls.map(({ callId, name, arguments: given }) => ({ id: callId ?? "", name, arguments: given })),
      }),
      ...calls.map(({ callId, name, output, endedAt }) => {
        return toolMessage(callId ?? "", name, endedAt === null ? INTERRUPTED : (output ?? ""));
      }),
    ]);
}

/** The ids of the user's messages in a prompt, oldest first. */
export const questionIds = ({
  recentMessages,
  currentMessageId,
}: Pick<ConversationState, "recentMessages" | "currentMessageId">): string[] => [
  ...recentMessages.filter(({ role }) => role === "user").map(({ id }) => id),
  currentMessageId,
];

/**
 * The steps that the agent which answers sees: what its members did is in the results of its calls, and another one may have handed over. A
 * handoff that was refused is seen, or it would be tried again after a question.
 */
export const seenByLead = (steps: readonly StepOfMessage[]): StepOfMessage[] =>
  steps.filter(({ task, name, ok }) => task === 0 && (name !== HANDOFF || ok === false));

/** Steps by question, in the order of the questions, the current one last. A turn without steps counts unless it only begins. */
export function groupByQuestion(steps: readonly StepOfMessage[], userMessageIds: readonly string[]): TurnSteps[] {
  const byQuestion = Map.groupBy(steps, ({ userMessageId }) => userMessageId);
  return userMessageIds
    .map((userMessageId) => ({ userMessageId, steps: byQuestion.get(userMessageId) ?? [] }))
    .filter((turn, index) => turn.steps.length > 0 || index < userMessageIds.length - 1);
}

/** The prompt with the steps of earlier turns and attempts, as far as they fit into `room` tokens. */
export function withSteps(
  prompt: readonly BaseMessage[],
  turns: readonly TurnSteps[],
  { currentMessageId, room }: { currentMessageId: string; room: number },
): BaseMessage[] {
  const fitting = new Map(fitSteps(turns, room).map((turn) => [turn.userMessageId, turn]));
  return prompt.flatMap((message, index) => {
    const turn = fitting.get(index === prompt.length - 1 ? currentMessageId : (message.id ?? ""));
    return turn ? [message, ...toMessages(turn)] : [message];
  });
}
