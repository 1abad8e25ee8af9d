import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { AnswerValue, Question } from "../../../turn/question.ts";
import { callerOf, tenantOf, userInPath, withCallersUser } from "../../auth/caller.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Turns } from "../../turns/open-turn.ts";
import { jsonAnswer, jsonBody, makeRouter, next, operationGroup, route, time } from "../../http/operation.ts";
import { callerId, pageQuery, parseRequest, parseUuid, storableText, toPageRequest, uuidField } from "../../http/parse-request.ts";
import { localSource } from "../../turns/turn-source.ts";
import { sendTurnStream, turnStream } from "../../turns/turn-stream.ts";

const MAX_TEXT = 20_000;
const MAX_LABELS = 50;
const label = storableText.max(200);

const Answer = z.strictObject({
  question_id: uuidField,
  answer: z
    .union([label, z.array(label).max(MAX_LABELS)], "must be a label of an option, or several")
    .nullish()
    .describe("A label of an option; several where the question allows it."),
  text: storableText.max(MAX_TEXT, `has more than ${MAX_TEXT} characters`).optional().describe("What the person says in their own words."),
  results: z
    .array(z.strictObject({ call_id: storableText, output: storableText }))
    .max(1_000)
    .optional()
    .describe("Of `client_tool`: the result of each call."),
});

const StoredAnswer = z.object({ turn_id: z.uuid(), question_id: z.uuid(), answer: AnswerValue, by: z.literal("person") });
const QuestionsQuery = z.object({ user_id: callerId, ...pageQuery });
const OpenQuestion = Question.extend({ turn_id: z.uuid(), conversation_id: z.uuid() });
const OpenQuestions = z.object({ questions: z.array(OpenQuestion), next });
const Permissions = z.object({
  permissions: z.array(z.object({ id: z.uuid(), agent: z.string(), tool: z.string(), created_at: time })),
  next,
});
const RevokedPermission = z.object({ revoked: z.literal(true) });
const params = { id: callerId };

export const questionOperations = operationGroup({
  tag: "turns",
  schemas: { Question, Answer, StoredAnswer, OpenQuestion, OpenQuestions, Permissions, RevokedPermission },
  routes: {
    answerQuestion: route("POST /api/v1/turns/:id/answers", "Answers the question that a turn waits for; the turn goes on", {
      details:
        "The first answer counts. The events of the turn continue at `GET /api/v1/turns/{id}/stream`; with `Accept: text/event-stream` they are the answer.",
      body: jsonBody(Answer),
      answers: { 200: turnStream, 201: jsonAnswer(StoredAnswer, "The answer is stored.", ["X-Turn-Id"]) },
      errors: [
        "not_found",
        "already_answered",
        "question_expired",
        "too_many_turns",
        "token_quota_exceeded",
        "overloaded",
        "shutting_down",
      ],
    }),
    listQuestions: route("GET /api/v1/questions", "What turns of a user wait for, newest first", {
      query: QuestionsQuery,
      answer: OpenQuestions,
    }),
    listPermissions: route("GET /api/v1/users/:id/permissions", "The tools that a user has allowed agents for good, newest first", {
      params,
      query: z.object(pageQuery),
      answer: Permissions,
      errors: ["not_found"],
    }),
    revokePermission: route("DELETE /api/v1/users/:id/permissions/:permission_id", "Takes one back: the agent asks again", {
      params: { ...params, permission_id: z.uuid() },
      answer: RevokedPermission,
      errors: ["not_found"],
    }),
  },
});

export function questionRoutes({
  stores: { questions, permissions },
  turns,
  heartbeatMs,
}: {
  stores: Pick<Stores, "permissions" | "questions">;
  turns: Turns;
  heartbeatMs: number;
}): Router {
  return makeRouter(questionOperations, {
    async answerQuestion(request, response) {
      const { question_id: questionId, ...reply } = parseRequest(Answer, request.body);
      const turnId = parseUuid("turn id", request.params["id"]);
      const { turn, given } = await turns.answer(callerOf(response), turnId, questionId, reply);
      turns.registry.attach(turnId, response, { cancels: false });
      response.set("x-turn-id", turnId);
      if (request.accepts(["json", "text/event-stream"]) === "text/event-stream")
        return sendTurnStream(response, localSource(turn, false), { turnId, heartbeatMs, flushHeaders: true });
      response.status(201).json({ turn_id: turnId, question_id: questionId, answer: given.value, by: "person" });
    },
    async listQuestions(request, response) {
      const { user_id: userId, ...page } = parseRequest(QuestionsQuery, withCallersUser(response, request.query));
      const { items, next } = await questions.list({ tenantId: tenantOf(response), userId }, toPageRequest(page));
      const open = items.map(({ question, turnId, conversationId }) => ({ ...question, turn_id: turnId, conversation_id: conversationId }));
      response.json({ questions: open, next });
    },
    async listPermissions(request, response) {
      const owner = { tenantId: tenantOf(response), userId: userInPath(request, response) };
      const { items, next } = await permissions.list(owner, toPageRequest(parseRequest(z.object(pageQuery), request.query)));
      response.json({ permissions: items.map(({ createdAt, ...kept }) => ({ ...kept, created_at: createdAt })), next });
    },
    async revokePermission(request, response) {
      const owner = { tenantId: tenantOf(response), userId: userInPath(request, response) };
      const id = parseUuid("permission id", request.params["permission_id"]);
      if (!(await permissions.remove(owner, id))) throw new AppError("not_found", `There is no permission ${id}.`);
      response.json({ revoked: true });
    },
  });
}
