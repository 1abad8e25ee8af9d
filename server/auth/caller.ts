import type { Request, RequestHandler, Response } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { callerId, parseRequest } from "../http/parse-request.ts";
import type { Scope } from "../settings/api-keys.ts";

export interface Caller {
  tenantId: string;
  /** Null when it may act for every user of its tenant. */
  userId: string | null;
  scope: Scope;
  /** It also sees other tenants' jobs and turns. */
  everyTenant: boolean;
}

/** Everybody, without keys and tokens. */
export const ANYBODY: Caller = { tenantId: "default", userId: null, scope: "admin", everyTenant: true };

export function callerOf(response: Response): Caller {
  const caller = response.locals["caller"] as Caller | undefined;
  if (!caller) throw new Error("a route that needs a caller stands before authenticate");
  return caller;
}

export const tenantOf = (response: Response): string => callerOf(response).tenantId;

export const canActFor = ({ userId }: Pick<Caller, "userId">, owner: string): boolean => userId === null || userId === owner;

const READING = new Set(["GET", "HEAD"]);

/** Throws AppError `forbidden` when a caller of scope `read` sends anything but GET and HEAD. */
export const requireScope: RequestHandler = (request, response, next) => {
  if (callerOf(response).scope === "read" && !READING.has(request.method)) {
    throw new AppError("forbidden", `This key or token may only read. ${request.method} needs scope write.`);
  }
  next();
};

/** Throws AppError `forbidden` for a caller that is one user. */
export function assertWholeTenant(response: Response): void {
  if (callerOf(response).userId !== null) {
    throw new AppError("forbidden", "This touches every user of the tenant. Send a key, or a token of scope admin.");
  }
}

export const requireWholeTenant: RequestHandler = (_request, response, next) => {
  assertWholeTenant(response);
  next();
};

/** Throws AppError `forbidden` unless the caller answers for the whole service. */
export const requireOperator: RequestHandler = (_request, response, next) => {
  if (!callerOf(response).everyTenant) throw new AppError("forbidden", "This touches every tenant. Send a key of scope admin.");
  next();
};

const PathUser = z.object({ user_id: callerId });

/** Throws AppError `invalid_request`, or `not_found` when the caller is another user. */
export function userInPath(request: Request, response: Response): string {
  const { user_id: userId } = parseRequest(PathUser, { user_id: request.params["id"] });
  if (!canActFor(callerOf(response), userId))
    throw new AppError("not_found", "There is no such user, or it is not the user of this token.");
  return userId;
}

/** Adds the `user_id` of the caller's token. Throws AppError `forbidden` when the body or query names another user. */
export function withCallersUser(response: Response, given: unknown): unknown {
  const caller = callerOf(response);
  if (caller.userId === null || typeof given !== "object" || given === null || Array.isArray(given)) return given;
  const { user_id: named = caller.userId } = given as { user_id?: unknown };
  if (typeof named === "string" && !canActFor(caller, named)) {
    throw new AppError("forbidden", "user_id: is not the user of this token. Leave it out, or send that user's token.");
  }
  return { ...given, user_id: named };
}
