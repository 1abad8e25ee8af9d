import type { Router } from "express";
import { z } from "zod";
import type { MatchAgents } from "../../../graph/match-agents.ts";
import type { RunCursor, RunOfHistory } from "../../../stores/postgres/agents/agent-run-store.ts";
import { decodeCursor, encodeCursor } from "../../../stores/page.ts";
import { AGENT_NAME } from "../../../turn/agent.ts";
import { Cost } from "../../../turn/usage.ts";
import { requireWholeTenant, tenantOf, withCallersUser } from "../../auth/caller.ts";
import { abortSignalOnClose } from "../../http/event-stream.ts";
import { jsonBody, makeRouter, operationGroup, route, time } from "../../http/operation.ts";
import { callerId, pageQuery, parseRequest } from "../../http/parse-request.ts";
import type { Stores } from "../../parts/open-stores.ts";
import { chatMessage } from "../../turns/chat-request.ts";
import { findConversation } from "../conversations/conversation-routes.ts";
import { nameOf } from "./agent-routes.ts";

const HistoryQuery = z.object({
  limit: pageQuery.limit,
  before: z.string("must be given once").optional().describe("The `next` of the page before."),
});
const AgentHistory = z.object({
  items: z.array(
    z.object({
      turn_id: z.uuid(),
      path: z.array(z.string()).describe("The agents from the one that led to this one."),
      input: z.string().describe("Its task, or the user's message when it answered the turn."),
      output: z.string().nullable().describe("Null: there is none."),
      tool_calls: z.int(),
      tokens: z.int(),
      ms: z.int(),
      ok: z.boolean(),
      at: time.describe("When it began."),
    }),
  ),
  next: z.string().nullable().describe("Send it as `before` to get the page behind this one; null on the last."),
});

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const isDay = (text: string): boolean => text.length === "2026-11-25".length;

const moment = z.union(
  [z.iso.datetime({ offset: true }), z.iso.date()],
  "must be a time like 2026-11-25T08:15:00Z or a day like 2026-11-25",
);
const StatsQuery = z
  .object({
    from: moment
      .transform((text) => new Date(text))
      .optional()
      .describe(`A time or a day of UTC. Default: ${DEFAULT_DAYS} days before \`to\`.`),
    to: moment
      .transform((text) => new Date(Date.parse(text) + (isDay(text) ? DAY_MS : 0)))
      .optional()
      .describe("Only before this time, or with this day. Default: now."),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, { path: ["from"], message: "is after `to`" });

const rate = z.number().nullable().describe("From 0 to 1. Null: there was no run.");
const ms = z.number().nullable();
const cost = Cost.describe("Of the runs whose cost is known. Null: of none.");
const AgentStats = z.object({
  invocations: z.int().describe("How often it answered a turn or did a task."),
  as_member: z.int().describe("How many of them another agent led."),
  success_rate: rate,
  avg_ms: ms,
  p95_ms: ms,
  tool_calls: z.int(),
  tokens: z.int(),
  cost,
  by_day: z
    .array(z.object({ day: z.iso.date(), invocations: z.int(), success_rate: rate, tokens: z.int(), cost }))
    .describe("Days of UTC with runs, in order."),
});

const MatchRequest = z.strictObject({ user_id: callerId, message: chatMessage });
const AgentMatches = z.object({
  matches: z.array(
    z.object({
      agent: z.string(),
      score: z.number().describe("How likely it is the right one, from 0 to 1."),
      method: z.string().describe("`rule`: by keywords; `embedding`: by meaning; `llm`: the router model chose it."),
      reason: z.string(),
    }),
  ),
});

const params = { name: z.string().regex(AGENT_NAME).describe("The name of an agent.") };

export const agentRunOperations = operationGroup({
  tag: "agents",
  schemas: { AgentHistory, AgentStats, MatchRequest, AgentMatches },
  routes: {
    getAgentHistory: route("GET /api/v1/conversations/:id/agents/:name/history", "What an agent did in a conversation, newest first", {
      params,
      query: HistoryQuery,
      answer: AgentHistory,
      errors: ["not_found"],
    }),
    getAgentStats: route("GET /api/v1/agents/:name/stats", "How often an agent worked, how well, how long and for what", {
      params,
      query: StatsQuery,
      answer: AgentStats,
      details: "Without what was erased, and with what an agent did that is deleted by now.",
    }),
    matchAgents: route("POST /api/v1/agents/match", "Which agents fit a message: first the one to which it would be routed", {
      body: jsonBody(MatchRequest),
      answer: AgentMatches,
      details: "Nothing is stored. No match: the assistant would answer.",
    }),
  },
});

const encodeRun = ({ at, turnId, task }: RunOfHistory): string => `${encodeCursor({ createdAt: at, id: turnId })}.${task}`;

/** Throws AppError `invalid_request` for anything that `encodeRun` has not made. */
function decodeRun(text: string): RunCursor {
  const [, cursor, task] = /^([\w-]+)\.(\d{1,9})$/.exec(text) ?? ["", text, ""];
  return { ...decodeCursor(cursor ?? "", "before"), task: Number(task) };
}

export function agentRunRoutes({
  stores,
  matchAgents,
}: {
  stores: Pick<Stores, "conversations" | "agentRuns">;
  matchAgents: MatchAgents;
}): Router {
  return makeRouter(agentRunOperations, {
    async getAgentHistory(request, response) {
      const name = nameOf(request);
      const { limit, before } = parseRequest(HistoryQuery, request.query);
      const conversation = await findConversation(stores.conversations, request, response);
      const page = { limit: limit + 1, before: before === undefined ? null : decodeRun(before) };
      const runs = (await stores.agentRuns.history(conversation, name, page)).slice(0, limit);
      const last = runs.at(-1);
      response.json({
        items: runs.map(({ turnId, path, input, output, toolCalls, tokens, ms, ok, at }) => {
          return { turn_id: turnId, path, input, output, tool_calls: toolCalls, tokens, ms, ok, at };
        }),
        next: last?.isMore ? encodeRun(last) : null,
      });
    },
    getAgentStats: [
      requireWholeTenant,
      async (request, response) => {
        const name = nameOf(request);
        const { to = new Date(), from = new Date(to.getTime() - DEFAULT_DAYS * DAY_MS) } = parseRequest(StatsQuery, request.query);
        const stats = await stores.agentRuns.stats(tenantOf(response), name, { from, to });
        const { invocations, asMember, successRate, avgMs, p95Ms, toolCalls, tokens, cost, byDay } = stats;
        response.json({
          ...{
            invocations,
            as_member: asMember,
            success_rate: successRate,
            avg_ms: avgMs,
            p95_ms: p95Ms,
            tool_calls: toolCalls,
            tokens,
            cost,
          },
          by_day: byDay.map(({ successRate: success_rate, ...day }) => ({ ...day, success_rate })),
        });
      },
    ],
    async matchAgents(request, response) {
      const { message } = parseRequest(MatchRequest, withCallersUser(response, request.body));
      const found = await matchAgents({ tenantId: tenantOf(response), message, signal: abortSignalOnClose(response) });
      response.json({ matches: found.map(({ agent, score, method, reason }) => ({ agent: agent.name, score, method, reason })) });
    },
  });
}
