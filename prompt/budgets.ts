import { type ContextShares, DEFAULT_SHARES } from "../turn/context.ts";

/** The current message's share of what the system prompt leaves. A longer one loses its middle. */
const MESSAGE_SHARE = 0.75;
/** The most that recalled exchanges take of what the message and the parts before it leave, when not all fits. */
const MOST_EPISODES = 0.5;
/** How the share of history is divided. */
const OF_HISTORY = { core_memory: 0.3, summary: 0.3, episodes: 0.16, passages: 0.24 } as const;

/** Tokens of a prompt's whole parts. `system` is never cut. */
export interface PromptNeeds {
  system: number;
  instructions: number;
  core_memory: number;
  summary: number;
  message: number;
  /** The beginning of a continued answer. */
  continued: number;
  attachments: number;
  episodes: number;
  passages: number;
  window: number;
}

/** What adding up loses of a whole number. */
const ROUNDING = 1e-6;

export type PromptBudgets = PromptNeeds;

/**
 * Shares `room` out: each part gets what it needs, up to its weight's share; the others get the rest by their weights. The sum never
 * exceeds `room`, and no part shrinks when `room` grows.
 */
export function shareOut<Name extends string>(
  room: number,
  parts: Readonly<Record<Name, { need: number; weight: number }>>,
): Record<Name, number> {
  const all = Object.entries(parts) as [Name, { need: number; weight: number }][];
  const modest = all.toSorted(([, one], [, other]) => one.need / one.weight - other.need / other.weight);
  let left = Math.max(0, room);
  let weights = all.reduce((sum, [, { weight }]) => sum + weight, 0);
  const given = modest.map(([name, { need, weight }]): [Name, number] => {
    const part = Math.min(need, (left * weight) / weights);
    left -= part;
    weights -= weight;
    return [name, Math.floor(part + ROUNDING)];
  });
  return Object.fromEntries(given) as Record<Name, number>;
}

/**
 * The tokens of each part in a prompt of at most `limit`. If all fits, each has what it needs. Stable parts come first and depend only on
 * what an overlong message leaves, so that the beginning of the prompt stays the same.
 */
export function promptBudgets(limit: number, needs: PromptNeeds, shares: ContextShares = DEFAULT_SHARES): PromptBudgets {
  const ofPrompt = shares.system + shares.history + shares.recent;
  const history = (part: keyof typeof OF_HISTORY): number => shares.history * OF_HISTORY[part];
  const most = Math.max(0, limit - needs.system);
  const message = Math.min(needs.message, most * MESSAGE_SHARE);
  const firm = Math.max(0, (limit * (shares.system + shares.history)) / ofPrompt - needs.system);
  const stableRoom = Math.min(firm, most - message, needs.instructions + needs.core_memory + needs.summary);
  const stable = shareOut(stableRoom, {
    instructions: { need: needs.instructions, weight: shares.system },
    core_memory: { need: needs.core_memory, weight: history("core_memory") },
    summary: { need: needs.summary, weight: history("summary") },
  });
  const changingRoom = most - message - stableRoom;
  const { continued, attachments, episodes, passages, window } = needs;
  const isTooMuch = continued + attachments + episodes + passages + window > changingRoom;
  const changing = shareOut(changingRoom, {
    continued: { need: continued, weight: shares.recent },
    attachments: { need: attachments, weight: shares.recent },
    episodes: { need: isTooMuch ? Math.min(episodes, changingRoom * MOST_EPISODES) : episodes, weight: history("episodes") },
    passages: { need: passages, weight: history("passages") },
    window: { need: window, weight: shares.recent },
  });
  return { system: needs.system, message: Math.floor(message), ...stable, ...changing };
}
