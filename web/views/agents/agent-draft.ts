import type { AgentSpec, McpServerBody } from "../../api/types.ts";

export type Draft = Readonly<Record<string, string>>;

const NO_BASE = "-";

const lines = (text = ""): string[] =>
  text
    .split(/[\n,，、]/u)
    .map((line) => line.trim())
    .filter((line) => line !== "");
/** Other text is sent unchanged, so that the service names the problem. */
const number = (text = ""): number => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : (text as unknown as number));
const given = <Value>(text: string | undefined, value: Value): Value | undefined => (text?.trim() ? value : undefined);

const LIMITS = ["max_steps", "max_tool_calls", "timeout_s", "parallel_tools", "max_depth"] as const;
const LISTS = ["tools", "skills", "subagents", "handoffs", "keywords"] as const;
const LAYERS = ["summary", "episodic", "core_memory"] as const;

type Rule = NonNullable<AgentSpec["permissions"]>[number];
function toRule(line: string): Rule {
  const [tool = "", ...action] = line.split(/\s+/u);
  return { tool, action: action.join(" ") as Rule["action"] };
}

/** The form has no field for them. */
const rulesOf = (text: string | undefined): AgentSpec["rules"] => (text ? (JSON.parse(text) as AgentSpec["rules"]) : []);

export function toAgent(draft: Draft): AgentSpec {
  const { knowledge = "" } = draft;
  const spec = {
    description: draft["description"] ?? "",
    instructions: given(draft["instructions"], draft["instructions"]),
    model: given(draft["model"], draft["model"]?.trim()),
    temperature: given(draft["temperature"], number(draft["temperature"])),
    max_output_tokens: given(draft["max_output_tokens"], number(draft["max_output_tokens"])),
    tools: lines(draft["tools"]),
    permissions: lines(draft["permissions"]).map(toRule),
    rules: rulesOf(draft["rules"]),
    skills: lines(draft["skills"]),
    subagents: lines(draft["subagents"]),
    team: { strategy: draft["team.strategy"], share: draft["team.share"] },
    handoffs: lines(draft["handoffs"]),
    keywords: lines(draft["keywords"]),
    knowledge: knowledge === NO_BASE ? null : given(knowledge, knowledge),
    limits: Object.fromEntries(LIMITS.map((name) => [name, given(draft[`limits.${name}`], number(draft[`limits.${name}`]))])),
    memory: Object.fromEntries(LAYERS.flatMap((name) => (draft[`memory.${name}`] === "false" ? [[name, false]] : []))),
  };
  return spec as AgentSpec;
}

export function agentDraft(spec: AgentSpec): Draft {
  const text = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "");
  const {
    description,
    instructions,
    model,
    temperature,
    max_output_tokens: longest,
    knowledge,
    limits,
    memory,
    team,
    permissions = [],
    rules = [],
  } = spec;
  return {
    ...{ description, instructions: text(instructions), model: text(model) },
    ...{ temperature: text(temperature), max_output_tokens: text(longest) },
    ...Object.fromEntries(LISTS.map((name) => [name, (spec[name] ?? []).join("\n")])),
    permissions: permissions.map(({ tool, action }) => `${tool} ${action}`).join("\n"),
    rules: JSON.stringify(rules),
    knowledge: knowledge === null ? NO_BASE : text(knowledge),
    ...{ "team.strategy": team?.strategy ?? "hierarchical", "team.share": team?.share ?? "none" },
    ...Object.fromEntries(LIMITS.map((name) => [`limits.${name}`, text(limits?.[name])])),
    ...Object.fromEntries(LAYERS.map((name) => [`memory.${name}`, String(memory?.[name] ?? true)])),
  };
}

/** Headers stand one a line, as `Name: value`. */
export function toServer({ url = "", headers = "" }: Draft): McpServerBody {
  const pairs = headers
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [name = "", ...value] = line.split(":");
      return [name.trim(), value.join(":").trim()];
    });
  return { url: url.trim(), headers: Object.fromEntries(pairs) as Record<string, string> };
}

export const NEW_SKILL = (name: string): string => `---\nname: ${name}\ndescription: \n---\n\n`;
