import type { PermissionAction, Agent } from "../../turn/agent.ts";
import { parseArguments, shownArguments } from "../../text/tool-arguments.ts";
import { retryWhileUnreachable } from "../../stores/postgres/turns/turn-lease.ts";
import type { PendingCall } from "../../turn/resumed-turn.ts";
import type { AgentRun, AgentTurn } from "../agent-turn.ts";
import type { StepKind } from "../../turn/state.ts";
import { notRun, ToolError } from "../run-tool-call.ts";
import { type AgentTool, matchesPattern } from "../tool.ts";
import { ofForms } from "./elicitation.ts";
import { type Asking, loopQuestion, permissionQuestion, refused, type Rejected, stepQuestion, type Verdict } from "./questions.ts";
import { corrected, fittingRule } from "./rules.ts";
import { ASK_AGENT } from "../team/strategy.ts";
import { dayOfMoment, isoDay } from "../../text/days.ts";
import { createHash } from "node:crypto";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { canonicalJson } from "../../text/canonical-json.ts";

type Permission = Agent["permissions"][number];

/** The number of named characters. A pattern without `*` is the most specific. */
function specificity({ tool }: Permission): number {
  return tool.includes("*") ? tool.replaceAll("*", "").length : Infinity;
}

/** The most specific matching rule; of equals deny before ask before allow. */
function entryFor(entries: readonly Permission[], toolName: string): Permission | undefined {
  const strictness: PermissionAction[] = ["allow", "ask", "deny"];
  const [first] = entries
    .filter(({ tool }) => matchesPattern(tool, toolName))
    .sort((one, other) => specificity(other) - specificity(one) || strictness.indexOf(other.action) - strictness.indexOf(one.action));
  return first;
}

/** What may be done with a call of the tool. Without an entry, harmless tools are allowed; all else asks. */
export function permissionFor(
  entries: readonly Permission[],
  { name, isHarmless }: Pick<AgentTool, "name" | "isHarmless">,
): PermissionAction {
  return entryFor(entries, name)?.action ?? (isHarmless ? "allow" : "ask");
}

/** A digest of what the model is told about a tool. A lasting permission is for this digest only. */
export function toolDigest({ tool }: Pick<AgentTool, "tool">): string {
  const described = canonicalJson([tool.name, tool.description, toJsonSchema(tool.schema)]);
  return createHash("sha256").update(described).digest("base64url");
}

export const isStoppedBefore = (
  { progress, interactive, stopsBefore }: Pick<AgentTurn, "progress" | "interactive" | "stopsBefore">,
  kind: StepKind,
): boolean => progress.isStepping === true && interactive && (stopsBefore?.includes(kind) ?? true);

/** The checks before a call, in order: stepping, rules, loops, permission. */
export type Passed = "step" | "rule" | "loop";

/** The run whose calls are judged. */
interface Judged {
  agent: Agent;
  run: AgentRun;
  tools: readonly AgentTool[];
}

/** A call as the rules leave it. `told`: what is told of it at once. */
export interface ReadCall {
  call: PendingCall;
  rejected: Rejected | null;
  told: Rejected["event"] | null;
}

export const unread = (call: PendingCall): ReadCall => ({ call, rejected: null, told: null });

const costOf = ({ progress: { spent } }: AgentTurn): number | null => spent.cost && spent.cost.input_usd + spent.cost.output_usd;

/** The how many-th call of its tool it is in the turn; of a call that was cut off by the steps. */
const nthOf = ({ earlier, held }: AgentTurn, { name, seq, nth }: PendingCall): number =>
  nth ?? earlier.filter((step) => step.turnId === held.turnId && step.kind === "tool" && step.name === name && step.seq <= seq).length;

/** Reads the rules of an agent about a call, once it is to run. None is read of a call that cannot run, or that a permission denies. */
export function makeReadRules(turn: AgentTurn, { agent, run: { path }, tools }: Judged) {
  const { held, observer, timeZone } = turn;
  const templates = () => ({ today: isoDay(dayOfMoment(new Date(), timeZone)), user_id: held.userId });

  /** `steps`: the answers of the model in the run. */
  return function readRules(call: PendingCall, { passed, steps }: { passed: Passed | undefined; steps: number }): ReadCall {
    if (call.forms || (passed ? passed !== "step" : isStoppedBefore(turn, "tool"))) return unread(call);
    const tool = tools.find(({ name }) => name === call.name);
    const given = parseArguments(call.arguments);
    if (!tool || given === null) return unread(call);
    const member = call.name === ASK_AGENT ? given["agent"] : undefined;
    const about = { tool: call.name, agent: typeof member === "string" ? member : agent.name, given };
    const facts = { ...about, calls: nthOf(turn, call), cost: costOf(turn), steps };
    const hasNone = agent.rules.length === 0 || permissionFor(agent.permissions, tool) === "deny";
    const rule = hasNone ? null : fittingRule(agent.rules, facts, templates());
    const made = rule?.action === "correct" ? corrected(given, rule, templates()) : given;
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

/** The verdict on a call that is itself a question, or the problem with it. */
function ofAskingTool(asks: NonNullable<AgentTool["asks"]>, given: Record<string, unknown>): { asking: Asking } | { wrong: Verdict } {
  try {
    return { asking: { question: asks(given) } };
  } catch (thrown) {
    if (thrown instanceof ToolError) return { wrong: { outcome: notRun(thrown) } };
    throw thrown;
  }
}

export interface KnownOfCall {
  /** How often the call has come, if that is a loop. */
  count: number | null;
  /** An equal earlier call was cut off: nobody knows whether it ran. */
  mayHaveRun: boolean;
  /** The last check that an answer has settled. */
  passed: Passed | undefined;
  /** The rule that refuses the call, or has it asked about. */
  rejected: Rejected | null;
}

/** Decides for each call whether it runs, and whether somebody is asked first. A call that cannot run needs no permission. */
export function makeJudge(turn: AgentTurn, { agent, path }: { agent: Agent; path: readonly string[] }, tools: readonly AgentTool[]) {
  let allowed: Promise<ReadonlyMap<string, string>> | undefined;

  /** A cut-off call asks again, even after a lasting permission. */
  async function permissionOf(tool: AgentTool, mayHaveRun: boolean): Promise<PermissionAction | "allow_always"> {
    const permission = permissionFor(agent.permissions, tool);
    if (permission === "allow") return mayHaveRun ? "ask" : "allow";
    if (permission === "deny" || mayHaveRun) return permission;
    allowed ??= retryWhileUnreachable(() => turn.permissions.ofAgent(turn.held, agent.name), turn.signal);
    return (await allowed).get(tool.name) === toolDigest(tool) ? "allow_always" : "ask";
  }

  const ask = (asking: Asking): Verdict => (turn.interactive ? { ask: asking } : { unasked: asking });

  /** The verdict of a rule that does not let the call run. */
  function byRule(call: PendingCall, tool: AgentTool, { event, action }: Rejected, mayHaveRun: boolean): Verdict {
    const { rule, message: why } = event.content;
    if (action === "refuse")
      return { ...refused("refused_by_rule", why, "Do without it, or do it in another way."), byRule: { rule, answer: "refuse" } };
    if (turn.interactive) {
      const question = permissionQuestion(agent.name, call, { digest: toolDigest(tool), mayHaveRun, why });
      return { ask: { question, about: "rule", before: event } };
    }
    const nobody = `"${call.name}" needs somebody's permission, and nobody can be asked. ${why}`;
    return { ...refused("permission_denied", nobody, "Do without it, and say so."), byRule: { rule, answer: "deny" } };
  }

  return async function judge(call: PendingCall, { count, mayHaveRun: wasCutOff, passed, rejected }: KnownOfCall): Promise<Verdict> {
    const ofForm = ofForms(call);
    if (ofForm) return ofForm;
    if (!passed && isStoppedBefore(turn, "tool")) return ask({ question: stepQuestion(agent.name, call), about: "step" });
    const tool = tools.find(({ name }) => name === call.name);
    const given = parseArguments(call.arguments);
    const mayHaveRun = wasCutOff && tool !== undefined && !tool.onlyReads;
    if (tool && rejected) return byRule(call, tool, rejected, mayHaveRun);
    if (tool?.runsAtCaller && given !== null) return { ask: null };
    if (count !== null && passed !== "loop" && passed !== "rule") {
      const content = { agent: agent.name, path: [...path], name: call.name, arguments: shownArguments(call), count };
      return ask({ question: loopQuestion(agent.name, call, count), about: "loop", before: { status: "doom_loop_detected", content } });
    }
    if (!tool || given === null) return { run: "allow" };
    const permission = await permissionOf(tool, mayHaveRun);
    if (tool.asks && permission !== "deny") {
      const asked = ofAskingTool(tool.asks, given);
      return "asking" in asked ? ask(asked.asking) : asked.wrong;
    }
    if (passed === "rule" && permission !== "deny") return { run: "allow" }; // somebody was asked
    if (permission === "ask")
      return turn.interactive
        ? ask({ question: permissionQuestion(agent.name, call, { digest: toolDigest(tool), mayHaveRun }) })
        : { run: "ask", ruling: "deny" };
    const needsNobody = tool.isHarmless && permission === "allow";
    return { run: permission === "allow_always" ? "allow" : permission, ruling: needsNobody ? undefined : permission };
  };
}
