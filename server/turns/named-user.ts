import type { Request } from "express";
import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { ANYBODY, type Caller } from "../auth/caller.ts";
import { callerId, parseRequest } from "../http/parse-request.ts";

/** Open WebUI's and LibreChat's; ids before addresses, which change. */
const USER_HEADERS = ["X-OpenWebUI-User-Id", "X-User-Id", "X-OpenWebUI-User-Email", "X-User-Email"];

/** The user of a service without keys. */
const ONLY_USER = "default";

interface NamedUser {
  user?: string | null | undefined;
  safety_identifier?: string | null | undefined;
}

/** The user that a request names, unchecked: for counting requests. */
export function claimedUser(request: Request): string {
  const { user, safety_identifier } = (request.body ?? {}) as { user?: unknown; safety_identifier?: unknown };
  const found = firstHeader(request, USER_HEADERS) ?? givenValue("user", user) ?? givenValue("safety_identifier", safety_identifier);
  return found?.value ?? ONLY_USER;
}

/**
 * The token's user, else a header's, else the body's, or null. Throws AppError `forbidden` for another user than the token's, or
 * `invalid_request`.
 */
export function namedUser(request: Request, caller: Caller, { user, safety_identifier }: NamedUser = {}): string | null {
  const header = firstHeader(request, USER_HEADERS);
  const body = givenValue("user", user) ?? givenValue("safety_identifier", safety_identifier);
  if (caller.userId !== null) {
    for (const other of [header, body]) {
      if (other && other.value !== caller.userId)
        throw new AppError("forbidden", `${other.field}: your token belongs to another user. Leave it out, or send that user's token.`);
    }
    return caller.userId;
  }
  const found = header ?? body;
  return found ? checkedId(found) : null;
}

/** As `namedUser`; if nobody is named, the one person of a service without keys. Throws AppError `forbidden` or `invalid_request`. */
export function findUser(request: Request, caller: Caller, body: NamedUser = {}): string {
  const found = namedUser(request, caller, body);
  if (found !== null) return found;
  if (caller === ANYBODY) return ONLY_USER;
  const problem = "is missing; send whose memory to use in the header X-User-Id or X-OpenWebUI-User-Id, or as user in the body";
  throw AppError.invalid([{ field: "user", problem }]);
}

interface Given {
  field: string;
  value: string;
}

/** What front ends send for nothing. */
const NOTHING = /^(new|null|undefined|none|\{\{.*\}\})?$/i;

export function givenValue(field: string, value: unknown): Given | undefined {
  return typeof value === "string" && !NOTHING.test(value.trim()) ? { field, value } : undefined;
}

/** The first of these headers with a value. Node reads headers as Latin-1; UTF-8 is restored. */
export function firstHeader(request: Request, names: readonly string[]): Given | undefined {
  for (const name of names) {
    const raw = request.get(name);
    const bytes = Buffer.from(raw ?? "", "latin1");
    const found = givenValue(name, isUtf8(bytes) ? bytes.toString("utf8") : raw);
    if (found) return found;
  }
  return undefined;
}

export function checkedId({ field, value }: Given): string {
  parseRequest(z.object({ [field]: callerId }), { [field]: value });
  return value;
}
