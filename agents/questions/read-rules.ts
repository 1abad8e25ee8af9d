import { canonicalJson } from "../../text/canonical-json.ts";
import { dayOfMoment, isoDay } from "../../text/days.ts";
import { parseArguments } from "../../text/tool-arguments.ts";
import type { Agent } from "../../turn/agent.ts";
import type { PendingCall } from "../../turn/resumed-turn.ts";
import { type AgentRun, type AgentTurn, isStoppedBefore } from "../agent-turn.ts";
import { ASK_AGENT } from "../team/strategy.ts";
import type { AgentTool } from "../tool.ts";
import { permissionFor, type Passed } from "./permissions.ts";
import type { Rejected } from "./questions.ts";
import { corrected, fittingRule } from "./rules.ts";

/** A call as the rules leave it. `told`: what is told of it at once. */
export interface ReadCall {
  call: PendingCall;
  rejected: Rejected | null;
  told: Rejected["event"] | null;
}

export const unread = (call: PendingCall): ReadCall => ({ call, rejected: null, told: null });

interface OfRun {
  agent: Agent;
  run: AgentRun;
  tools: readonly AgentTool[];
}

const costOf = ({ progress: { spent } }: AgentTurn): number | null => spent.cost && spent.cost.input_usd + spent.cost.output_usd;

/** The how many-th call of its tool it is in the turn; of a call that was cut off by the steps. */
const nthOf = ({ earlier, held }: AgentTurn, { name, seq, nth }: PendingCall): number =>
  nth ?? earlier.filter((step) => step.turnId === held.turnId && step.kind === "tool" && step.name === name && step.seq <= seq).length;

/** Reads the rules of an agent about a call, once it is to run. None is read of a call that cannot run, or that a permission denies. */
export function makeReadRules(turn: AgentTurn, { agent, run: { path }, tools }: OfRun) {
  const { held, observer, timeZone } = turn;

  /** `steps`: the answers of the model in the run. */
  return function readRules(call: PendingCall, { passed, steps }: { passed: Passed | undefined; steps: number }): ReadCall {
    if (call.forms || (passed ? passed !== "step" : isStoppedBefore(turn, "tool"))) return unread(call);
    const tool = tools.find(({ name }) => name === call.name);
    const given = parseArguments(call.arguments);
    if (!tool || given === null) return unread(call);
    const isDenied = permissionFor(agent.permissions, tool) === "deny";
    const member = call.name === ASK_AGENT ? given["agent"] : undefined;
    const about = { tool: call.name, agent: typeof member === "string" ? member : agent.name, given };
    const facts = { ...about, calls: nthOf(turn, call), cost: costOf(turn), steps };
    const templates = { today: isoDay(dayOfMoment(new Date(), timeZone)), user_id: held.userId };
    const rule = isDenied ? null : fittingRule(agent.rules, facts, templates);
    const made = rule?.action === "correct" ? corrected(given, rule, templates) : given;
    const isRejected = rule !== null && (rule.action !== "correct" || canonicalJson(made) !== canonicalJson(given));
    observer.tell({ happened: "call_judged", isRejected });
    if (!isRejected) return unread(call); // a call that needs no correction any more is not told again
    const { name, action, message } = rule;
    const content = { rule: name, action, agent: agent.name, path: [...path], name: call.name, arguments: given, message };
    const event = { status: "decision_rejected", content } as const;
    if (action === "correct") return { call: { ...call, arguments: JSON.stringify(made), correctedBy: name }, rejected: null, told: event };
    // What is asked is told with the question, if it is asked.
    return { call, rejected: { action, event }, told: action === "refuse" || !turn.interactive ? event : null };
  };
}
