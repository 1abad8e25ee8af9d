import { Router, type Request } from "express";
import type { RateLimits } from "./rate-limits.ts";

/** Counts every request for its tenant, and for the user that its token, its path or its query names. */
export function countRequests(rates: RateLimits): Router {
  return Router()
    .use(rates.ofTenant)
    .use(
      "/api/v1/users/:id",
      rates.ofUser(({ params }) => params["id"]),
    )
    .use(rates.ofUser(({ query }) => query["user_id"]));
}

/** The user a parsed body names, for `ofUser`. */
export function userInBody({ body }: Request): unknown {
  return (body as { user_id?: unknown } | undefined)?.user_id;
}
