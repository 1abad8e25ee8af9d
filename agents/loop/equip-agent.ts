import type { Agent } from "../../turn/agent.ts";
import type { Skill } from "../skills/skill.ts";
import type { SkillCatalog } from "../skills/skill-catalog.ts";
import { type AgentTool, toolsOf } from "../tool.ts";
import { describeSkills, makeLoadSkill } from "../tools/load-skill.ts";

/** What an agent works with in a turn. */
export interface Equipment {
  tools: AgentTool[];
  /** Stand behind its own instructions. */
  aboutSkills: string;
}

/** The tools that an agent names, and the one that loads its skills. */
export function equipAgent(
  agent: Agent,
  { available, skills, catalog }: { available: readonly AgentTool[]; skills: readonly Skill[]; catalog: SkillCatalog },
): Equipment {
  const own = toolsOf(agent, available);
  return { tools: skills.length > 0 ? [...own, makeLoadSkill(skills, catalog)] : own, aboutSkills: describeSkills(skills) };
}
