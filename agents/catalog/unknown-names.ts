import type { Problem } from "../../errors/app-error.ts";
import { type AgentSpec, ASSISTANT } from "../../turn/agent.ts";
import { mayName } from "../mcp/mcp-server.ts";

/** Known names of tools, without those of MCP servers. */
export interface KnownTools {
  tools: readonly string[];
  /** Disabled tools, and the settings that enable them. */
  off: Readonly<Record<string, string>>;
}

export interface KnownNames {
  mcpServers: readonly string[];
  skills: readonly string[];
}

/** The loop's own tools, which no agent names. */
const OF_THE_LOOP = ["load_skill", "ask_agent", "handoff_to"];

const listed = (names: readonly string[]): string => names.toSorted().join(", ") || "none";

/** Names of tools that only the operator could add, in `tools` and `permissions`. A pattern may match nothing. */
export function unknownTools({ tools, permissions }: Pick<AgentSpec, "tools" | "permissions">, known: KnownTools): Problem[] {
  const all = [...known.tools, ...OF_THE_LOOP];
  const toProblem = (name: string): string =>
    known.off[name] === undefined
      ? `there is no tool "${name}"; there are: ${listed(all)}, and those of MCP servers, mcp__SERVER__TOOL`
      : `the tool "${name}" is switched off; ${known.off[name]} switches it on`;
  return toolNames({ tools, permissions })
    .filter(({ name }) => !name.includes("*") && !name.startsWith("mcp__") && !all.includes(name))
    .map(({ field, name }) => ({ field, problem: toProblem(name) }));
}

/** Names that a tenant may still define: MCP servers in names of tools, and skills. */
export function unmetNames(spec: Pick<AgentSpec, "tools" | "permissions" | "skills">, known: KnownNames): Problem[] {
  const ofServers = toolNames(spec)
    .filter(({ name }) => name.startsWith("mcp__") && !known.mcpServers.some((server) => mayName(name, server)))
    .map(({ field, name }) => ({
      field,
      problem: `"${name}" names no MCP server that there is; there are: ${listed(known.mcpServers)}`,
    }));
  const ofSkills = spec.skills.flatMap((name, index) =>
    name.includes("*") || known.skills.includes(name)
      ? []
      : [{ field: `skills.${index}`, problem: `there is no skill "${name}"; there are: ${listed(known.skills)}` }],
  );
  return [...ofServers, ...ofSkills];
}

type OfTeam = Pick<AgentSpec, "subagents" | "handoffs" | "team">;

/** What the others that an agent names cannot be, whoever else there is: itself, the assistant, or nobody where its strategy needs members. */
export function teamProblems(own: string, spec: OfTeam): Problem[] {
  const { subagents, team } = spec;
  const ofNames = OTHERS.flatMap(({ field, refusal }) => [
    ...(spec[field].includes(own) ? [{ field, problem: "holds the agent itself; remove it" }] : []),
    ...(spec[field].includes(ASSISTANT) ? [{ field, problem: `"${ASSISTANT}" ${refusal}; name another agent` }] : []),
  ]);
  const needsMembers = team.strategy !== "hierarchical" && subagents.length === 0;
  const problem = `"${team.strategy}" needs members; name them in subagents`;
  return [...ofNames, ...(needsMembers ? [{ field: "team.strategy", problem }] : [])];
}

/** The other agents that an agent names and that are not among these. */
export const unknownAgents = (own: string, spec: OfTeam, known: readonly string[]): Problem[] =>
  OTHERS.flatMap(({ field }) =>
    spec[field]
      .filter((name) => name !== own && name !== ASSISTANT && !known.includes(name))
      .map((name) => ({ field, problem: `there is no agent "${name}"` })),
  );

const OTHERS = [
  { field: "subagents", refusal: "takes no tasks" },
  { field: "handoffs", refusal: "answers wherever no agent is asked" },
] as const;

function toolNames({ tools, permissions }: Pick<AgentSpec, "tools" | "permissions">): { field: string; name: string }[] {
  return [
    ...tools.map((name, index) => ({ field: `tools.${index}`, name })),
    ...permissions.map(({ tool: name }, index) => ({ field: `permissions.${index}.tool`, name })),
  ];
}
