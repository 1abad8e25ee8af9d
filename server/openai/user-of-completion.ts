import type { Request } from "express";
import { AppError } from "../../errors/app-error.ts";
import { ANYBODY, type Caller } from "../caller.ts";
import { checkedId, firstHeader, given } from "./forwarded-header.ts";

/** Open WebUI's, and those that LibreChat is told to send; ids before addresses, which change. */
const USER_HEADERS = ["X-OpenWebUI-User-Id", "X-User-Id", "X-OpenWebUI-User-Email", "X-User-Email"];

/** The one person of a service without keys, which listens on its own machine only. */
const ONLY_USER = "default";

/** Whom a request names, before anything is checked: for counting its requests. */
export function namedUser(request: Request): string {
  const { user } = (request.body ?? {}) as { user?: unknown };
  return (firstHeader(request, USER_HEADERS) ?? given("user", user))?.value ?? ONLY_USER;
}

/**
 * Whose memory a completion uses: the user of the token, else of a forwarded header, else of the body. Throws AppError `forbidden` when a
 * token's user gives another one, `invalid_request` when there is none.
 */
export function userOfCompletion(request: Request, caller: Caller, user: string | null | undefined): string {
  const header = firstHeader(request, USER_HEADERS);
  const body = given("user", user);
  if (caller.userId !== null) {
    for (const other of [header, body]) {
      if (other && other.value !== caller.userId)
        throw new AppError("forbidden", `${other.field}: your token is of another user; leave it out, or send the token of that user.`);
    }
    return caller.userId;
  }
  const found = header ?? body;
  if (found) return checkedId(found);
  if (caller === ANYBODY) return ONLY_USER;
  throw AppError.invalid([
    {
      field: "user",
      problem: "is missing; send whose memory to use as user in the body, or in the header X-OpenWebUI-User-Id or X-User-Id",
    },
  ]);
}
