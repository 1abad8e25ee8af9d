import type { Request } from "express";
import { z } from "zod";
import { parseRequest } from "./parse-request.ts";
import { callerId } from "./request-fields.ts";

/** The user in a request's path. Throws AppError `invalid_request`. */
export function userOf(request: Request): string {
  return parseRequest(z.object({ user_id: callerId }), { user_id: request.params["id"] }).user_id;
}
