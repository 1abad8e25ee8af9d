import { createHash, timingSafeEqual } from "node:crypto";
import type { RequestHandler, Response } from "express";
import { AppError } from "../errors/app-error.ts";

/** The tenant of everybody while no keys are set. */
const ONLY_TENANT = "default";

export interface ApiKey {
  key: string;
  tenantId: string;
}

const digest = (key: string): Buffer => createHash("sha256").update(key).digest();

/** The tenant that `authenticate` found for this request. */
export function tenantOf(response: Response<unknown, { tenantId?: string }>): string {
  const { tenantId } = response.locals;
  if (tenantId === undefined) throw new Error("a route that needs a tenant stands before authenticate");
  return tenantId;
}

/**
 * Finds the tenant of `Authorization: Bearer KEY`. Only hashes of the keys stay in memory, and every one is compared, so that the time
 * tells nothing. Without keys everybody is the one tenant (the service then listens on this machine only).
 */
export function authenticate(keys: ApiKey[] | undefined): RequestHandler {
  const known = keys?.map(({ key, tenantId }) => ({ hash: digest(key), tenantId }));
  return function authenticateRequest(request, response, next) {
    if (!known) {
      response.locals["tenantId"] = ONLY_TENANT;
      return next();
    }
    const given = digest(/^Bearer (.+)$/i.exec(request.get("authorization") ?? "")?.[1] ?? "");
    const match = known.filter(({ hash }) => timingSafeEqual(hash, given))[0];
    if (!match) {
      response.set("www-authenticate", "Bearer");
      throw new AppError("unauthorized", "This service needs a key: send the header Authorization: Bearer KEY with one of its API_KEYS.");
    }
    response.locals["tenantId"] = match.tenantId;
    next();
  };
}
