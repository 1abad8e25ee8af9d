import { type Request, type RequestHandler, type Response, Router } from "express";
import type { RateLimiterRes } from "rate-limiter-flexible";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { AppError } from "../../errors/app-error.ts";
import { ownerKey } from "../../stores/index-keys.ts";
import { callerOf } from "../auth/caller.ts";
import { countOne } from "../http/count-one.ts";

const MINUTE = 60;
/** In one minute; more users of a tenant are not counted, which bounds memory. */
const MOST_USERS = 50_000;

const secondsOf = ({ msBeforeNext }: RateLimiterRes): number => Math.max(1, Math.ceil(msBeforeNext / 1_000));

function refusal(whose: string, limit: number, variable: string, counted: RateLimiterRes): AppError {
  const seconds = secondsOf(counted);
  return new AppError(
    "rate_limited",
    `More than ${limit} requests in a minute for this ${whose}. Send it again in ${seconds} s; ${variable} sets the limit.`,
    { retryAfterSeconds: seconds },
  );
}

/** Sends a client the rest of its limit, in requests and seconds. */
function tell(response: Response, limit: number, counted: RateLimiterRes): void {
  response.set({
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(counted.remainingPoints),
    "ratelimit-reset": String(secondsOf(counted)),
  });
}

export interface RateLimits {
  ofTenant: RequestHandler;
  /** Counts each request once, for its token's user or the found one. */
  ofUser(find: (request: Request) => unknown): RequestHandler;
  /** The counted requests of the present minute. */
  used(tenantId: string, userId: string | null): Promise<{ tenant: number; user: number }>;
}

/** In this process; 0: any number. A minute begins with the first request. */
export function makeRateLimits({ perUser, perTenant }: { perUser: number; perTenant: number }): RateLimits {
  const tenants = new RateLimiterMemory({ points: perTenant, duration: MINUTE });
  const users = new RateLimiterMemory({ points: perUser, duration: MINUTE });
  const newUsers = new RateLimiterMemory({ points: MOST_USERS, duration: MINUTE });

  async function isCounted(tenantId: string, key: string): Promise<boolean> {
    return (await users.get(key)) !== null || !(await countOne(newUsers, tenantId)).isOver;
  }

  const ofTenant: RequestHandler = async (_request, response, next) => {
    if (perTenant === 0) return next();
    const { counted, isOver } = await countOne(tenants, callerOf(response).tenantId);
    tell(response, perTenant, counted);
    if (isOver) throw refusal("tenant", perTenant, "RATE_LIMIT_PER_MINUTE_PER_TENANT", counted);
    next();
  };

  return {
    ofTenant,
    async used(tenantId, userId) {
      const [tenant, user] = await Promise.all([tenants.get(tenantId), userId === null ? null : users.get(ownerKey(tenantId, userId))]);
      return { tenant: tenant?.consumedPoints ?? 0, user: user?.consumedPoints ?? 0 };
    },
    ofUser: (find) =>
      async function countForUser(request, response, next) {
        const { tenantId, userId } = callerOf(response);
        const user = userId ?? find(request);
        if (perUser === 0 || typeof user !== "string" || response.locals["isCounted"] === true) return next();
        response.locals["isCounted"] = true;
        const key = ownerKey(tenantId, user);
        if (!(await isCounted(tenantId, key))) return next();
        const { counted, isOver } = await countOne(users, key);
        tell(response, perUser, counted);
        if (isOver) throw refusal("user", perUser, "RATE_LIMIT_PER_MINUTE", counted);
        next();
      },
  };
}

export function countRequests(rates: RateLimits): Router {
  return Router()
    .use(rates.ofTenant)
    .use(
      "/api/v1/users/:id",
      rates.ofUser(({ params }) => params["id"]),
    )
    .use(rates.ofUser(({ query }) => query["user_id"]));
}

export function userInBody({ body }: Request): unknown {
  return (body as { user_id?: unknown } | undefined)?.user_id;
}
