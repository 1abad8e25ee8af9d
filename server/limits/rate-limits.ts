import type { Request, RequestHandler, Response } from "express";
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";
import { AppError } from "../../errors/app-error.ts";
import { ownerKey } from "../../stores/search/owner-key.ts";
import { callerOf } from "../caller.ts";
import { countOne } from "./count-one.ts";

const MINUTE = 60;
/** Users of one tenant that begin a minute of their own within one minute; more are not counted, so that memory has a bound. */
const MOST_USERS = 50_000;

export interface RateLimits {
  /** Counts each request for its tenant. */
  ofTenant: RequestHandler;
  /** Counts each request once, for the user that its token or `find` names; one that names none is let through. */
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

/** Limits of requests a minute in this process. A minute begins with the first request. */
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
