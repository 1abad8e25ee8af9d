import type { Router } from "express";
import { z } from "zod";
import { FactSource, ModelPrices } from "../../models/facts/model-facts.ts";
import type { AppParts } from "../http/app-parts.ts";
import { makeRouter, operationGroup, route } from "../http/openapi/operation.ts";
import { modelNames } from "../start/open-models.ts";

const Model = z.object({
  name: z.string(),
  uses: z.array(z.enum(["chat", "router", "summary", "memory"])),
  choosable: z.boolean().describe("Callers and agents may name it as `model`: it is in MODELS."),
  context_window: z.int().describe("In tokens, for prompt and answer."),
  max_output_tokens: z.int().nullable(),
  prices: ModelPrices.nullable().describe("In US dollars for a million tokens."),
  capabilities: z.array(z.string()).nullable(),
  sources: z
    .object({
      context_window: FactSource,
      max_output_tokens: FactSource.optional(),
      prices: FactSource.optional(),
      capabilities: FactSource.optional(),
    })
    .describe(
      "Who says so: the server when it refused a longer prompt (`refusal`), MODEL_PROFILES (`file`), the model's `server`, LangChain's `profile`, or nobody (`assumed`).",
    ),
});
const ModelList = z.object({ models: z.array(Model) });

export const modelOperations = operationGroup({
  tag: "service",
  schemas: { ModelList },
  routes: {
    describeModels: route("GET /api/v1/models", "The models in use, and what is known of each", { answer: ModelList }),
  },
});

export function modelRoutes({ config, facts, models: { listed } }: AppParts): Router {
  return makeRouter(modelOperations, {
    async describeModels(_request, response) {
      const uses = Map.groupBy(Object.entries(modelNames(config)), ([, name]) => name);
      const names = new Set([...uses.keys(), ...listed]);
      const models = [...names].map((name) => {
        const { capabilities, ...known } = facts.of(name);
        const used = (uses.get(name) ?? []).map(([use]) => use as z.infer<typeof Model>["uses"][number]);
        return { ...known, uses: used, choosable: listed.includes(name), capabilities: capabilities && [...capabilities] };
      });
      response.json({ models });
    },
  });
}
