import type { Router } from "express";
import { z } from "zod";
import { Rule, Rules } from "../../../turn/rule.ts";
import { requireWholeTenant, tenantOf } from "../../auth/caller.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../../http/operation.ts";
import { parseRequest } from "../../http/parse-request.ts";
import type { Stores } from "../../parts/open-stores.ts";

const RuleList = z.strictObject({ rules: z.array(Rule) });
const RulesBody = z.strictObject({ rules: Rules.unwrap() });

export const ruleOperations = operationGroup({
  tag: "agents",
  schemas: { Rule, RuleList, RulesBody },
  routes: {
    getRules: route("GET /api/v1/rules", "The rules of every agent of the tenant", { answer: RuleList }),
    putRules: route("PUT /api/v1/rules", "Replaces the rules of every agent of the tenant", {
      body: jsonBody(RulesBody),
      answer: RuleList,
      details: "They stand behind an agent's own rules of the same priority. `GET /api/v1/agents` shows only an agent's own.",
    }),
  },
});

export function ruleRoutes({ stores: { rules } }: { stores: Pick<Stores, "rules"> }): Router {
  return makeRouter(ruleOperations, {
    async getRules(_request, response) {
      response.json({ rules: await rules.list(tenantOf(response)) });
    },
    putRules: [
      requireWholeTenant,
      async (request, response) => {
        const { rules: given } = parseRequest(RulesBody, request.body);
        await rules.put(tenantOf(response), given);
        response.json({ rules: given });
      },
    ],
  });
}
