import type { Router } from "express";
import { z } from "zod";
import { AnsweredBy, AnswerValue, Question } from "../../../turn/question.ts";
import { tenantOf, userInPath } from "../../auth/caller.ts";
import type { Stores } from "../../parts/open-stores.ts";
import { makeRouter, next, operationGroup, route, time } from "../../http/operation.ts";
import { callerId, pageQuery, parseRequest, toPageRequest } from "../../http/parse-request.ts";

const Decision = z.object({
  id: z.uuid().describe("Of the question, where somebody was asked."),
  type: z.enum(["permission", "clarification", "decision"]),
  agent: z.string(),
  question: z.string().nullable().describe("Null where a rule decided."),
  tool: Question.shape.tool.unwrap().nullable().describe("Of a permission: the call that was to run."),
  answer: AnswerValue.describe(
    "Of a rule: `allow`, `allow_always` (the user has allowed the tool for good), `deny`, `refuse` or `correct`.",
  ),
  text: z.string().nullable().describe("What the person said in their own words."),
  by: AnsweredBy,
  rule: z.string().nullable().describe("The name of the rule that refused or corrected the call; `tool` is the call as it ran."),
  turn_id: z
    .uuid()
    .nullable()
    .describe("Null, as all but `tool` and a permission's `answer`, in what KEEP_DECISIONS_DAYS keeps after an erase."),
  conversation_id: z.uuid().nullable(),
  decided_at: time,
});
const Decisions = z.object({ decisions: z.array(Decision), next });

export const decisionOperations = operationGroup({
  tag: "turns",
  schemas: { Decision, Decisions },
  routes: {
    listDecisions: route("GET /api/v1/users/:id/decisions", "Who allowed or answered what, when, and for which arguments, newest first", {
      details: "A call that nobody had to allow is no decision: tools that only read, and those of memory.",
      params: { id: callerId },
      query: z.object(pageQuery),
      answer: Decisions,
      errors: ["not_found"],
    }),
  },
});

export function decisionRoutes({ stores: { decisions } }: { stores: Stores }): Router {
  return makeRouter(decisionOperations, {
    async listDecisions(request, response) {
      const owner = { tenantId: tenantOf(response), userId: userInPath(request, response) };
      const { items, next } = await decisions.list(owner, toPageRequest(parseRequest(z.object(pageQuery), request.query)));
      const shown = items.map(({ turnId, conversationId, createdAt, ...decision }) => {
        return { ...decision, turn_id: turnId, conversation_id: conversationId, decided_at: createdAt };
      });
      response.json({ decisions: shown, next });
    },
  });
}
