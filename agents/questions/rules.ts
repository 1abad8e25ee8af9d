import { canonicalJson } from "../../text/canonical-json.ts";
import { patternOf, type Rule } from "../../turn/rule.ts";
import { matchesParts, matchesPattern } from "../tool.ts";

/** What the conditions of rules are about. */
export interface CallFacts {
  tool: string;
  /** The member that is to do a task; of other calls the agent that calls. */
  agent: string;
  given: Record<string, unknown>;
  /** The calls of the tool in the turn, with this one. */
  calls: number;
  /** US dollars of the turn; null: unknown. */
  cost: number | null;
  /** Answers of the model in the run. */
  steps: number;
}

/** What stands for the templates `{{today}}` and `{{user_id}}`. */
export interface Templates {
  today: string;
  user_id: string;
}

const fillText = (text: string, templates: Templates): string =>
  text.replaceAll(/\{\{(today|user_id)\}\}/g, (_whole, name: keyof Templates) => templates[name]);

function fill(value: unknown, templates: Templates): unknown {
  if (typeof value === "string") return fillText(value, templates);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => fill(item, templates));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fill(inner, templates)]));
}

const isContainer = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** The value at a path of names with dots between them; undefined: there is none. */
function valueAt(given: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce((value: unknown, name) => (isContainer(value) && Object.hasOwn(value, name) ? value[name] : undefined), given);
}

function argumentFits(value: unknown, expected: unknown, templates: Templates): boolean {
  if (value === undefined) return false;
  const pattern = patternOf(expected);
  if (pattern === null) return canonicalJson(value) === canonicalJson(fill(expected, templates));
  const parts = pattern.split("*").map((part) => fillText(part, templates)); // a user's id may hold a *
  return matchesParts(parts, typeof value === "string" ? value : canonicalJson(value));
}

function fits({ when }: Rule, { tool, agent, given, calls, cost, steps }: CallFacts, templates: Templates): boolean {
  const isOver = (value: number | null, limit: number | undefined): boolean => limit === undefined || (value !== null && value > limit);
  return (
    (when.tool === undefined || matchesPattern(when.tool, tool)) &&
    (when.agent === undefined || matchesParts(when.agent.split("*"), agent)) &&
    isOver(calls, when.calls_over) &&
    isOver(cost, when.cost_over) &&
    isOver(steps, when.step_over) &&
    Object.entries(when.arguments ?? {}).every(([path, expected]) => argumentFits(valueAt(given, path), expected, templates))
  );
}

/** The rule that decides about a call: of those that fit the one with the smallest priority, of equals the first. */
export function fittingRule(rules: readonly Rule[], facts: CallFacts, templates: Templates): Rule | null {
  return rules.toSorted((one, other) => one.priority - other.priority).find((rule) => fits(rule, facts, templates)) ?? null;
}

/** A copy with a value at a path. Missing objects are made; what is no object gives way to one. */
function withValue(given: unknown, [name = "", ...rest]: readonly string[], value: unknown): unknown {
  const inner = isContainer(given) && Object.hasOwn(given, name) ? given[name] : undefined;
  const set = rest.length === 0 ? value : withValue(inner, rest, value);
  const at = Number(name);
  if (Array.isArray(given) && /^\d{1,9}$/.test(name) && at <= given.length) {
    const items: readonly unknown[] = given;
    return [...items.slice(0, at), set, ...items.slice(at + 1)];
  }
  return { ...(isContainer(given) && !Array.isArray(given) ? given : {}), [name]: set };
}

/** The arguments as a rule corrects them. They are not checked. */
export function corrected(given: Record<string, unknown>, { set = {} }: Pick<Rule, "set">, templates: Templates): Record<string, unknown> {
  return Object.entries(set).reduce(
    (now, [path, value]) => withValue(now, path.split("."), fill(value, templates)) as Record<string, unknown>,
    given,
  );
}
