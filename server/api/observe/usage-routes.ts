import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import type { ModelPurpose } from "../../../observe/observer.ts";
import type { CallTotals, UsageKey, UsageOfKey } from "../../../stores/postgres/usage/usage-store.ts";
import { Cost } from "../../../turn/usage.ts";
import { tenantOf, withCallersUser } from "../../auth/caller.ts";
import type { Stores } from "../../parts/open-stores.ts";
import { makeRouter, next, operationGroup, route } from "../../http/operation.ts";
import { callerId, pageQuery, parseRequest } from "../../http/parse-request.ts";
import { cutPage } from "../../../stores/page.ts";

const KEYS = ["user", "model", "day"] as const satisfies UsageKey[];
const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

const day = z.iso.date("must be a day like 2026-11-25");
const UsageQuery = z
  .object({
    by: z.enum(KEYS, `must be one of ${KEYS.join(", ")}`).default("day"),
    from: day.optional().describe(`The first day of UTC. Default: ${DEFAULT_DAYS} days before \`to\`.`),
    to: day.optional().describe("The last one. Default: today."),
    user_id: callerId.optional().describe("Only what was asked for this user."),
    ...pageQuery,
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, { path: ["from"], message: "is after `to`" });

const Totals = z.object({
  calls: z.int(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  cached_tokens: z.int().describe("Of the prompts, as far as servers tell."),
  total_tokens: z.int(),
  cost: Cost.describe("By the prices of MODEL_PROFILES. Null when no call has one."),
  unpriced_calls: z.int().describe("Calls that are not in `cost`: nobody knows the price of their model."),
  estimated: z.boolean().describe("The tokens of some calls, and with them their cost, are estimated: their server counted none."),
});
type Totals = z.infer<typeof Totals>;

const Usage = z.object({
  user_id: z.string().nullable().optional().describe("With `by=user`. Null: users who were erased, all together."),
  model: z.string().optional().describe("With `by=model`."),
  day: z.string().optional().describe("With `by=day`."),
  turns: Totals,
  background: Totals.describe("Everything else: summaries, core memory, titles, routing, tasks of front ends."),
  purposes: z.record(z.string(), Totals).describe("`background` by purpose: `summary`, `memory`, `title`, `router`, `task`."),
});
const UsageList = z.object({ by: z.enum(KEYS), from: z.string(), to: z.string(), usage: z.array(Usage), next });

export const usageOperations = operationGroup({
  tag: "service",
  schemas: { UsageList, CallTotals: Totals },
  routes: {
    listUsage: route("GET /api/v1/usage", "What models were asked for in a tenant, by user, model or day: tokens and cost", {
      query: UsageQuery,
      answer: UsageList,
    }),
  },
});

const IN_TURNS: readonly ModelPurpose[] = ["chat"];

const NOTHING: CallTotals = {
  calls: 0,
  estimatedCalls: 0,
  unpricedCalls: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  inputUsd: 0,
  outputUsd: 0,
};

function addUp(all: readonly CallTotals[]): CallTotals {
  const fields = Object.keys(NOTHING) as (keyof CallTotals)[];
  const sumOf = (field: keyof CallTotals): number => all.reduce((sum, totals) => sum + totals[field], 0);
  return Object.fromEntries(fields.map((field) => [field, sumOf(field)])) as unknown as CallTotals;
}

function toTotals(totals: CallTotals): Totals {
  const { calls, promptTokens, completionTokens, cachedTokens, unpricedCalls, inputUsd, outputUsd } = totals;
  return {
    calls,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    cached_tokens: cachedTokens,
    total_tokens: promptTokens + completionTokens,
    cost: calls > 0 && unpricedCalls === calls ? null : { input_usd: inputUsd, output_usd: outputUsd },
    unpriced_calls: unpricedCalls,
    estimated: totals.estimatedCalls > 0,
  };
}

function toUsage(by: UsageKey, { key, purposes }: UsageOfKey): z.infer<typeof Usage> {
  const inTurns = purposes.filter(({ purpose }) => IN_TURNS.includes(purpose));
  const behind = purposes.filter(({ purpose }) => !IN_TURNS.includes(purpose));
  return {
    ...{ user: { user_id: key === "" ? null : key }, model: { model: key }, day: { day: key } }[by],
    turns: toTotals(addUp(inTurns)),
    background: toTotals(addUp(behind)),
    purposes: Object.fromEntries(behind.map(({ purpose, ...totals }) => [purpose, toTotals(totals)])),
  };
}

const encode = (by: UsageKey, key: string): string => Buffer.from(JSON.stringify([by, key])).toString("base64url");

/** Throws AppError `invalid_request` for anything that `encode` has not made. */
function decode(by: UsageKey, text: string): string {
  try {
    const [of, key] = JSON.parse(Buffer.from(text, "base64url").toString()) as unknown[];
    if (of === by && typeof key === "string" && encode(by, key) === text) return key;
  } catch {
    // refused below
  }
  const problem = `"${text.slice(0, 80)}" is not the "next" of a page with by=${by}; pass it unchanged`;
  throw AppError.invalid([{ field: "after", problem }]);
}

const toDay = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

export function usageRoutes({ stores: { usage } }: { stores: Pick<Stores, "usage"> }): Router {
  return makeRouter(usageOperations, {
    async listUsage(request, response) {
      const query = parseRequest(UsageQuery, withCallersUser(response, request.query));
      const { by, to = toDay(Date.now()), user_id: userId = null, limit } = query;
      const { from = toDay(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS) } = query;
      const after = query.after === undefined ? null : decode(by, query.after);
      const found = await usage.list({ tenantId: tenantOf(response), by, from, to, userId, after, limit });
      const { items, next } = cutPage(found, limit, ({ key }) => encode(by, key));
      response.json({ ...{ by, from, to }, usage: items.map((one) => toUsage(by, one)), next });
    },
  });
}
