import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { Agents } from "../parts/open-agents.ts";
import type { Models } from "../parts/open-models.ts";
import type { ModelFactsSource } from "../../models/facts/model-facts.ts";
import { PREFIX } from "../api/knowledge/knowledge-routes.ts";

/** The service: it finds documents by itself. */
export const SERVICE = "conversation-graph";
const CREATED = Date.UTC(2026, 0, 1) / 1_000;

export const OpenAIModel = z.object({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.string(),
  context_window: z.int().describe("In tokens, for prompt and answer. OpenAI has no such field, nor the next two."),
  max_output_tokens: z.int().nullable(),
  capabilities: z.array(z.string()).nullable(),
});

/** What a request names as its model. Null: nothing in particular. */
export interface OfferedModel {
  shown: z.infer<typeof OpenAIModel>;
  kbPrefix: string | null;
  agent: string | null;
  model: string | null;
}

/** The models of OpenAI's protocol: the service, its knowledge bases and agents, and those of MODELS. */
export function makeOfferedModels({
  stores: { knowledgeBases },
  agents: { catalog },
  models,
  facts,
}: {
  stores: Pick<Stores, "knowledgeBases">;
  agents: Agents;
  models: Models;
  facts: ModelFactsSource;
}) {
  const [own] = models.choose({ model: null, agent: null });

  function offer(id: string, { kbPrefix = null, agent = null, model = null }: Partial<Omit<OfferedModel, "shown">> = {}): OfferedModel {
    const { context_window, max_output_tokens, capabilities } = facts.of(model ?? own?.name ?? SERVICE);
    const known = { context_window, max_output_tokens, capabilities: capabilities && [...capabilities] };
    return { shown: { id, object: "model", created: CREATED, owned_by: SERVICE, ...known }, kbPrefix, agent, model };
  }
  const ofBase = (prefix: string): OfferedModel => offer(`${SERVICE}/${prefix}`, { kbPrefix: prefix });
  const ofAgent = (name: string): OfferedModel => offer(`${SERVICE}/${name}`, { agent: name });
  const ofModel = (name: string): OfferedModel => offer(name, { model: name });

  async function list(tenantId: string): Promise<OfferedModel[]> {
    const [bases, known] = await Promise.all([knowledgeBases.list(tenantId), catalog.list(tenantId)]);
    const prefixes = new Set(bases.map(({ prefix }) => prefix));
    const names = known.map(({ name }) => name).filter((name) => !prefixes.has(name)); // the base had it first
    return [offer(SERVICE), ...[...prefixes].map(ofBase), ...names.map(ofAgent), ...models.listed.map(ofModel)];
  }

  return {
    list,
    /** Throws AppError `not_found`, which lists the models. */
    async find(tenantId: string, id: string): Promise<OfferedModel> {
      if (id === SERVICE) return offer(SERVICE);
      if (models.listed.includes(id)) return ofModel(id);
      const name = id.startsWith(`${SERVICE}/`) ? id.slice(SERVICE.length + 1) : "";
      if (PREFIX.test(name) && (await knowledgeBases.find(tenantId, name))) return ofBase(name);
      const all = await list(tenantId);
      const found = all.find(({ shown }) => shown.id === id);
      if (found) return found;
      const problem = `there is no model "${id.slice(0, 80)}"; there are ${all.map(({ shown }) => shown.id).join(", ")}`;
      throw new AppError("not_found", `model: ${problem}`, { details: [{ field: "model", problem }] });
    },
  };
}
