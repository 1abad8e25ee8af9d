import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { callerOf } from "../../auth/caller.ts";
import { findConversation } from "../conversations/conversation-routes.ts";
import type { Stores } from "../../parts/open-stores.ts";
import { makeRouter, next, operationGroup, route, time } from "../../http/operation.ts";
import { parseRequest, parseUuid, wholeNumberField, AfterQuery } from "../../http/parse-request.ts";
import { toTurnStep, TurnStep } from "../../turns/turn-step.ts";
import { pageByName } from "../../../stores/page.ts";

const StepList = z.object({ steps: z.array(TurnStep), next });
const StepsQuery = z.object({
  limit: wholeNumberField(1, 200).default(50),
  after: wholeNumberField(0, 999_999_999).optional().describe("The `next` of the page before."),
});

const ConversationAgents = z.object({
  agents: z.array(
    z.object({
      agent: z.string(),
      interaction_count: z.int(),
      last_interaction_type: z.string(),
      last_interaction_at: time,
      state_description: z.string().nullable(),
    }),
  ),
  next,
});

export const stepOperations = operationGroup({
  tag: "agents",
  schemas: { TurnStep, StepList, ConversationAgents },
  routes: {
    listSteps: route("GET /api/v1/turns/:id/steps", "What a turn did on the way to its answer, in order", {
      query: StepsQuery,
      answer: StepList,
      errors: ["not_found"],
    }),
    listConversationAgents: route("GET /api/v1/conversations/:id/agents", "The agents with tools that took part in a conversation", {
      query: AfterQuery,
      answer: ConversationAgents,
      errors: ["not_found"],
    }),
  },
});

export function stepRoutes({ stores }: { stores: Pick<Stores, "conversations" | "steps" | "turns"> }): Router {
  return makeRouter(stepOperations, {
    async listSteps(request, response) {
      const id = parseUuid("turn id", request.params["id"]);
      const { limit, after = 0 } = parseRequest(StepsQuery, request.query);
      const caller = callerOf(response);
      const [turn, found] = await Promise.all([stores.turns.find(caller, id), stores.steps.list(caller, id, { after, limit: limit + 1 })]);
      if (!turn) throw new AppError("not_found", `There is no turn ${id}.`);
      const steps = found.slice(0, limit);
      const last = steps.at(-1);
      response.json({ steps: steps.map(toTurnStep), next: last?.isMore ? String(last.seq) : null });
    },
    async listConversationAgents(request, response) {
      const conversation = await findConversation(stores.conversations, request, response);
      const { after } = parseRequest(AfterQuery, request.query);
      const { items, next } = pageByName(await stores.steps.agents(conversation), ({ agent }) => agent, after);
      response.json({
        agents: items.map(({ agent, interactionCount, lastInteractionType, lastInteractionAt, stateDescription }) => {
          const last = { last_interaction_type: lastInteractionType, last_interaction_at: lastInteractionAt };
          return { agent, interaction_count: interactionCount, ...last, state_description: stateDescription };
        }),
        next,
      });
    },
  });
}
