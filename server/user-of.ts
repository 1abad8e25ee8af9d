import type { Request, Response } from "express";
import { z } from "zod";
import { AppError } from "../errors/app-error.ts";
import { actsFor, callerOf } from "./caller.ts";
import { parseRequest } from "./parse-request.ts";
import { callerId } from "./request-fields.ts";

const PathUser = z.object({ user_id: callerId });

/** The user in a request's path. Throws AppError `invalid_request`; `not_found` when the caller is another user. */
export function userOf(request: Request, response: Response): string {
  const { user_id: userId } = parseRequest(PathUser, { user_id: request.params["id"] });
  if (!actsFor(callerOf(response), userId)) throw new AppError("not_found", "There is no such user, or it is not the user of this token.");
  return userId;
}

/**
 * A body or query with the `user_id` of the caller, who may leave it out when its token names the user; otherwise as it is, for a schema that
 * asks for one. Throws AppError `forbidden` for another user than the token's.
 */
export function withUserOf(response: Response, given: unknown): unknown {
  const caller = callerOf(response);
  if (caller.userId === null || typeof given !== "object" || given === null || Array.isArray(given)) return given;
  const { user_id: named = caller.userId } = given as { user_id?: unknown };
  if (typeof named === "string" && !actsFor(caller, named)) {
    throw new AppError("forbidden", "user_id: is not the user of this token; leave it out, or send a token of that user.");
  }
  return { ...given, user_id: named };
}
