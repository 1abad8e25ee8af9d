import type { Problem } from "../../errors/app-error.ts";
import type { AgentSpec } from "../../turn/agent.ts";
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
const OF_THE_LOOP = ["load_skill", "ask_agent"];

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

function toolNames({ tools, permissions }: Pick<AgentSpec, "tools" | "permissions">): { field: string; name: string }[] {
  return [
    ...tools.map((name, index) => ({ field: `tools.${index}`, name })),
    ...permissions.map(({ tool: name }, index) => ({ field: `permissions.${index}.tool`, name })),
  ];
}
