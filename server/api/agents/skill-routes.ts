import type { Request, Router } from "express";
import { z } from "zod";
import { MAX_SKILL_BYTES, parseSkill, SKILL_NAME } from "../../../agents/skills/skill.ts";
import { AppError } from "../../../errors/app-error.ts";
import { AgentTier } from "../../../turn/agent.ts";
import { requireWholeTenant, tenantOf } from "../../auth/caller.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Agents } from "../../parts/open-agents.ts";
import { jsonAnswer, jsonBody, makeRouter, operationGroup, route, next } from "../../http/operation.ts";
import { DryRunQuery, isDryRun, parseRequest, storableText, AfterQuery } from "../../http/parse-request.ts";
import { readJson, requireJson } from "../../http/read-body.ts";
import { pageByName } from "../../../stores/page.ts";

/** Switches a system skill off for this tenant. */
const Disabled = z.strictObject({ disabled: z.literal(true) });
const SkillContent = z.strictObject({
  files: z
    .record(z.string(), storableText)
    .describe("Texts by path: SKILL.md, and others beside it or one folder deep. At most 1 MiB together."),
});
const SkillBody = z.union([Disabled, SkillContent]);

const ListedSkill = z.object({
  name: z.string(),
  tier: AgentTier,
  description: z.string(),
  disabled: z.boolean().describe("Of the system, and switched off for this tenant."),
});
const Skill = ListedSkill.extend({ files: z.record(z.string(), z.string()) });
const SkillList = z.object({ skills: z.array(ListedSkill), next });
const DeletedSkill = z.object({ deleted: z.boolean() });

const params = { name: z.string().regex(SKILL_NAME).describe("The name of a skill.") };

export const skillOperations = operationGroup({
  tag: "agents",
  schemas: { SkillBody, ListedSkill, Skill, SkillList, DeletedSkill },
  routes: {
    listSkills: route("GET /api/v1/skills", "All skills, by name", { query: AfterQuery, answer: SkillList }),
    getSkill: route("GET /api/v1/skills/:name", "One skill with its files", { params, answer: Skill, errors: ["not_found"] }),
    putSkill: route("PUT /api/v1/skills/:name", "Makes a skill, changes it, or disables one of the system", {
      params,
      query: DryRunQuery,
      body: jsonBody(SkillBody),
      answers: { 200: jsonAnswer(Skill, "Changed."), 201: jsonAnswer(Skill, "Made.") },
    }),
    deleteSkill: route("DELETE /api/v1/skills/:name", "Deletes a skill of the tenant; one of the system by that name is used again", {
      params,
      answer: DeletedSkill,
      errors: ["not_found"],
    }),
  },
});

function nameOf(request: Request): string {
  const name = String(request.params["name"]);
  if (SKILL_NAME.test(name)) return name;
  throw AppError.invalid([
    { field: "name", problem: `"${name.slice(0, 80)}" cannot be the name of a skill: 1 to 64 small letters, digits and dashes` },
  ]);
}

const noSuchSkill = (name: string): AppError => new AppError("not_found", `There is no skill "${name}".`);

export function skillRoutes({ stores, agents: { systemSkills } }: { stores: Pick<Stores, "skills">; agents: Agents }): Router {
  const ofSystem = (name: string) => systemSkills.find((skill) => skill.name === name);

  async function listAll(tenantId: string): Promise<z.infer<typeof ListedSkill>[]> {
    const own = await stores.skills.list(tenantId);
    const names = new Set(own.map(({ name }) => name));
    const listed = own.flatMap(({ name, description }) => {
      const shown = description ?? ofSystem(name)?.description; // a disabled one is shown as the system's
      return shown === undefined ? [] : [{ name, tier: "tenant" as const, description: shown, disabled: description === null }];
    });
    const others = systemSkills.filter(({ name }) => !names.has(name));
    return [...listed, ...others.map(({ name, tier, description }) => ({ name, tier, description, disabled: false }))];
  }

  async function findSkill(tenantId: string, name: string): Promise<z.infer<typeof Skill>> {
    const [all, own] = await Promise.all([listAll(tenantId), stores.skills.find(tenantId, name)]);
    const listed = all.find((skill) => skill.name === name);
    if (!listed) throw noSuchSkill(name);
    return { ...listed, files: { ...(own?.files ?? ofSystem(name)?.files) } };
  }

  return makeRouter(skillOperations, {
    async listSkills(request, response) {
      const { after } = parseRequest(AfterQuery, request.query);
      const { items, next } = pageByName(await listAll(tenantOf(response)), ({ name }) => name, after);
      response.json({ skills: items, next });
    },
    async getSkill(request, response) {
      response.json(await findSkill(tenantOf(response), nameOf(request)));
    },
    putSkill: [
      requireWholeTenant,
      requireJson,
      readJson(2 * MAX_SKILL_BYTES),
      async (request, response) => {
        const [tenantId, name] = [tenantOf(response), nameOf(request)];
        const disables = Disabled.safeParse(request.body).success;
        if (disables && !ofSystem(name))
          throw AppError.invalid([
            { field: "disabled", problem: `the system has no skill "${name}" that could be disabled; delete your own` },
          ]);
        const files = disables ? null : parseRequest(SkillContent, request.body).files;
        const content = files && { files, description: parseSkill(name, files).description };
        if (isDryRun(request)) {
          const shown = content ? { ...content, name, tier: "tenant" as const, disabled: false } : await findSkill(tenantId, name);
          return void response.json(shown);
        }
        const { isNew } = await stores.skills.put(tenantId, name, content);
        response.status(isNew ? 201 : 200).json(await findSkill(tenantId, name));
      },
    ],
    deleteSkill: [
      requireWholeTenant,
      async (request, response) => {
        const [tenantId, name] = [tenantOf(response), nameOf(request)];
        if (await stores.skills.remove(tenantId, name)) return void response.json({ deleted: true });
        throw ofSystem(name)
          ? new AppError(
              "not_found",
              `"${name}" is a skill of the system, which only its folder can change. Send {"disabled": true} with PUT to switch it off.`,
            )
          : noSuchSkill(name);
      },
    ],
  });
}
