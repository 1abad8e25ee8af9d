import { z } from "zod";
import { Rules } from "./rule.ts";
import { list, text, toolPattern, whole } from "./spec-fields.ts";

export const AGENT_NAME = /^[a-z0-9-]{1,64}$/;

/** The agent without tools, which answers when no other is asked for or fits. */
export const ASSISTANT = "assistant";

const agentName = z.string().regex(AGENT_NAME, "must have 1 to 64 small letters, digits and dashes");
/** The name of a skill; `*` stands for any characters. */
const skillPattern = z.string().regex(/^[a-z0-9*-]{1,64}$/, "must be the name of a skill; * stands for any characters");
const onOrOff = z.boolean("must be true or false");
const TEMPERATURE = "must be a number between 0 and 2";
const IS_OBJECT = {
  error: ({ code }: { code: string }) => (code === "invalid_type" ? "must be an object; leave it out for the defaults" : undefined),
};

export const PermissionAction = z.enum(["allow", "ask", "deny"], "must be allow, ask or deny");
export type PermissionAction = z.infer<typeof PermissionAction>;

export const AgentLimits = z.strictObject(
  {
    max_steps: whole(1, 100).default(10).describe("Answers of the model, with the last one."),
    max_tool_calls: whole(0, 1_000).default(50),
    timeout_s: whole(1, 86_400).default(600),
    parallel_tools: whole(1, 50).default(5).describe("Calls of one answer that run at the same time."),
    max_depth: whole(1, 10).default(3).describe("How many members may work one below the other."),
  },
  IS_OBJECT,
);
export type AgentLimits = z.infer<typeof AgentLimits>;

/** How members are given work, and what they see of the conversation beside their task. */
export const Team = z.strictObject(
  {
    strategy: z
      .enum(["hierarchical", "single", "parallel", "sequential"], "must be hierarchical, single, parallel or sequential")
      .default("hierarchical")
      .describe(
        "hierarchical: it gives tasks with ask_agent; single: the member that fits answers; parallel: all get the message; sequential: one after the other.",
      ),
    share: z
      .enum(["none", "summary", "memory"], "must be none, summary or memory")
      .default("none")
      .describe("What members see beside their task: nothing, the summary, or the summary and all of memory in its prompt."),
  },
  IS_OBJECT,
);
export type Team = z.infer<typeof Team>;

/** An agent as its file or request describes it. */
export const AgentSpec = z.strictObject({
  description: text(1_024).describe("What it is for. Routing reads it."),
  instructions: text(20_000).optional().describe("Stand behind the service's own system prompt."),
  model: text(200).optional().describe("One of the models that the service knows. Default: CHAT_MODEL."),
  temperature: z.number(TEMPERATURE).min(0, TEMPERATURE).max(2, TEMPERATURE).optional(),
  max_output_tokens: whole(1, 1_000_000).optional(),
  tools: list(toolPattern, 200).describe("Patterns of tool names, as mcp__docs__*. None: no tools, and no agent loop."),
  permissions: list(z.strictObject({ tool: toolPattern, action: PermissionAction }), 200).describe(
    "The most specific rule that matches a tool decides; of equally specific ones deny does.",
  ),
  rules: Rules.describe("Read before each call, before permissions: the first one that fits decides."),
  skills: list(skillPattern, 200).describe("Patterns of names of skills that it may load. None: no skills."),
  knowledge: text(64).nullable().optional().describe("The knowledge base of its turns; null: none. Without it they are routed."),
  subagents: list(agentName, 50).describe("Its members: agents to which it may give tasks."),
  team: Team.prefault({}),
  handoffs: list(agentName, 50).describe("Agents to which it may hand over the conversation."),
  keywords: list(text(100), 200).describe("Route a message to it, as those of a knowledge base do."),
  memory: z
    .strictObject({ summary: onOrOff.optional(), episodic: onOrOff.optional(), core_memory: onOrOff.optional() }, IS_OBJECT)
    .default({})
    .describe("False switches a layer of memory off for its turns."),
  limits: AgentLimits.prefault({}),
});
/** Whether an agent can call anything, and so answers in a loop. */
export const hasTools = ({ tools, skills, subagents, handoffs }: Pick<AgentSpec, "tools" | "skills" | "subagents" | "handoffs">): boolean =>
  tools.length + skills.length + subagents.length + handoffs.length > 0;
/** An agent with every default. */
export type AgentSpec = z.infer<typeof AgentSpec>;
/** An agent as a program writes it: all but the description has a default. */
export type AgentSpecInput = z.input<typeof AgentSpec>;

/** `system`: from a file or code. `tenant`: from Postgres, over HTTP; it wins. */
export const AgentTier = z.enum(["tenant", "system"]);
export type AgentTier = z.infer<typeof AgentTier>;

export const Agent = AgentSpec.extend({ name: agentName, tier: AgentTier });
/** An agent with its name and tier. */
export type Agent = z.infer<typeof Agent>;

/** Whether the strategy gives the tasks, not the agent's model. */
export const givesTasks = ({ team, subagents }: Pick<Agent, "team" | "subagents">): boolean =>
  subagents.length > 0 && (team.strategy === "parallel" || team.strategy === "sequential");

/** A member with its own limits, where those of its lead are not narrower. */
export function narrowed(member: Agent, lead: Pick<Agent, "limits">): Agent {
  const narrower = (limit: keyof AgentLimits): number => Math.min(member.limits[limit], lead.limits[limit]);
  const [max_steps, max_tool_calls] = [narrower("max_steps"), narrower("max_tool_calls")];
  const [timeout_s, parallel_tools] = [narrower("timeout_s"), narrower("parallel_tools")];
  const max_depth = Math.min(member.limits.max_depth, lead.limits.max_depth - 1);
  return { ...member, limits: { max_steps, max_tool_calls, timeout_s, parallel_tools, max_depth } };
}
