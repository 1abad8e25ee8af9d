import { type Request, type RequestHandler, type Response, Router } from "express";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { AppError } from "../../errors/app-error.ts";
import { ownerKey } from "../../stores/search/index-keys.ts";
import { callerOf } from "../auth/caller.ts";

const MINUTE = 60;
/** Users of one tenant that are counted in one minute; more are not, which bounds memory. */
const MOST_USERS = 50_000;

export interface RateLimits {
  /** Counts each request for its tenant. */
  ofTenant: RequestHandler;
  /** Counts each request once, for the user of its token or the one that `find` finds; without either it passes. */
  ofUser(find: (request: Request) => unknown): RequestHandler;
}

export interface RateLimitParts {
  /** Requests a minute; 0: any number. */
  perUser: number;
  perTenant: number;
}

function refusal(whose: string, limit: number, variable: string, { msBeforeNext }: RateLimiterRes): AppError {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1_000));
  return new AppError(
    "rate_limited",
    `More than ${limit} requests in a minute for this ${whose}. Send it again in ${seconds} s; ${variable} sets the limit.`,
    { retryAfterSeconds: seconds },
  );
}

/** The headers that tell a client how much of its limit is left, in requests and seconds. */
function tell(response: Response, limit: number, { remainingPoints, msBeforeNext }: RateLimiterRes): void {
  response.set({
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(remainingPoints),
    "ratelimit-reset": String(Math.max(1, Math.ceil(msBeforeNext / 1_000))),
  });
}

/** Limits requests a minute in this process. A minute begins with the first request. */
export function makeRateLimits({ perUser, perTenant }: RateLimitParts): RateLimits {
  const tenants = new RateLimiterMemory({ points: perTenant, duration: MINUTE });
  const users = new RateLimiterMemory({ points: perUser, duration: MINUTE });
  const newUsers = new RateLimiterMemory({ points: MOST_USERS, duration: MINUTE });

  /** Whether this user has a count or there is room for one. */
  async function isCounted(tenantId: string, key: string): Promise<boolean> {
    return (await users.get(key)) !== null || !(await countOne(newUsers, tenantId)).isOver;
  }

  return {
    async ofTenant(_request, response, next) {
      if (perTenant === 0) return next();
      const { counted, isOver } = await countOne(tenants, callerOf(response).tenantId);
      tell(response, perTenant, counted);
      if (isOver) throw refusal("tenant", perTenant, "RATE_LIMIT_PER_MINUTE_PER_TENANT", counted);
      next();
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

/** Counts every request for its tenant, and for the user in its token, path or query. */
export function countRequests(rates: RateLimits): Router {
  return Router()
    .use(rates.ofTenant)
    .use(
      "/api/v1/users/:id",
      rates.ofUser(({ params }) => params["id"]),
    )
    .use(rates.ofUser(({ query }) => query["user_id"]));
}

/** The user in a parsed body, for `ofUser`. */
export function userInBody({ body }: Request): unknown {
  return (body as { user_id?: unknown } | undefined)?.user_id;
}

/** Counts one for `key`, also above its limit. */
export async function countOne(limiter: RateLimiterMemory, key: string): Promise<{ counted: RateLimiterRes; isOver: boolean }> {
  try {
    return { counted: await limiter.consume(key), isOver: false };
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return { counted: refused, isOver: true };
    throw refused;
  }
}
