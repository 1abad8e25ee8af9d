import type { RunnableConfig } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { fence } from "../../text/fence.ts";
import { ToolError } from "../run-tool-call.ts";
import { type Skill, SKILL_FILE, splitSkillFile } from "../skills/skill.ts";
import type { SkillCatalog } from "../skills/skill-catalog.ts";
import { type AgentTool, turnOf } from "../tool.ts";

/** The skills in a prompt. Empty without any. */
export function describeSkills(skills: readonly Skill[]): string {
  if (skills.length === 0) return "";
  const list = fence("available_skills", [
    { text: skills.map(({ name, description }) => `${name}: ${description.replaceAll(/\s+/gu, " ")}`).join("\n") },
  ]);
  return `Skills are instructions for certain tasks. When one fits, load it with load_skill first and follow it as far as it goes with what stands above.\n${list}`;
}

export const makeLoadSkill = (skills: readonly Skill[], catalog: Pick<SkillCatalog, "read">): AgentTool => ({
  name: "load_skill",
  isHarmless: true,
  onlyReads: true,
  readsOn: true,
  tool: tool(
    async ({ name, file = SKILL_FILE }, config: RunnableConfig) => {
      const isKnown = skills.some((skill) => skill.name === name);
      const files = isKnown ? await catalog.read(turnOf(config).tenantId, name) : null;
      if (!files)
        throw new ToolError(
          "unknown_skill",
          `There is no skill "${name.slice(0, 100)}".`,
          `Load one of these: ${skills.map((skill) => skill.name).join(", ")}.`,
        );
      const others = Object.keys(files)
        .filter((path) => path !== SKILL_FILE)
        .sort()
        .join(", ");
      const text = Object.hasOwn(files, file) ? files[file] : undefined;
      if (text === undefined)
        throw new ToolError(
          "unknown_file",
          `The skill "${name}" has no file "${file.slice(0, 200)}".`,
          `Its files: ${[SKILL_FILE, others].filter((part) => part !== "").join(", ")}.`,
        );
      if (file !== SKILL_FILE) return text;
      const { body } = splitSkillFile(text) ?? { body: text };
      return others === "" ? body : `${body}\n\nFiles of this skill, which load_skill reads with "file": ${others}`;
    },
    {
      name: "load_skill",
      description: "Loads the instructions of a skill, or another file of it. Scripts of a skill can be read, not run.",
      schema: z.strictObject({
        name: z.string().max(200).describe("One of the available skills."),
        file: z.string().max(300).optional().describe(`Default: ${SKILL_FILE}, its instructions.`),
        offset: z.int().min(0).optional().describe("The character of the output from which to read on."),
      }),
    },
  ),
});
