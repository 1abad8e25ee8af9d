import type { Step } from "../../stores/postgres/agents/step-store.ts";

/** The steps of one turn, which belong between a question and its answer. */
export interface TurnSteps {
  userMessageId: string;
  steps: readonly Step[];
}

/** The newest turns keep all outputs. */
const PROTECTED_TURNS = 2;
/** Behind them the newest outputs stay, up to this many tokens together. */
const KEPT_TOKENS = 40_000;
/** Less is not worth a prompt that no longer begins like the one before. */
const LEAST_GAIN = 20_000;

const placeholder = ({ name, tokens }: Step): string => `[output of ${name} left out, ${tokens} tokens]`;
/** What a skill says holds for the rest of the talk. */
const isKept = ({ kind, name }: Step): boolean => kind !== "tool" || name === "load_skill";

/** Leaves out old outputs of tools, oldest turn first in the list, when that wins enough. */
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

/** Makes the steps fit into `room` tokens: outputs go first, then whole turns, oldest first. */
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
