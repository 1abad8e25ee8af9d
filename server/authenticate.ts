import { createHash, timingSafeEqual } from "node:crypto";
import type { RequestHandler } from "express";
import { AppError } from "../errors/app-error.ts";
import { ANYBODY, type Caller } from "./caller.ts";
import type { ApiKey } from "./parse-api-keys.ts";
import type { VerifyToken } from "./verify-token.ts";

/** Who is let in. Without either everybody is (the service then listens on this machine only). */
export interface IdentityParts {
  apiKeys: ApiKey[] | undefined;
  verifyToken: VerifyToken | undefined;
}

const digest = (key: string): Buffer => createHash("sha256").update(key).digest();
/** Three parts of base64url: what no other bearer looks like but a key that was chosen so. */
const TOKEN = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Finds the caller of a key. Only hashes stay in memory, and every one is compared, so that the time tells nothing. */
function makeFindKey(apiKeys: readonly ApiKey[]): (bearer: string) => Caller | undefined {
  const known = apiKeys.map(({ key, tenantId, scope }) => {
    const caller: Caller = { tenantId, userId: null, scope, everyTenant: scope === "admin" };
    return { hash: digest(key), caller };
  });
  return function findKey(bearer) {
    const given = digest(bearer);
    return known.filter(({ hash }) => timingSafeEqual(hash, given))[0]?.caller;
  };
}

/** What to send instead, in words. */
function expectedOf({ apiKeys, verifyToken }: IdentityParts): string {
  if (!verifyToken) return "a key: send the header Authorization: Bearer KEY with one of its API_KEYS";
  if (!apiKeys) return "a token: send the header Authorization: Bearer TOKEN with a signed JWT";
  return "a key or a token: send the header Authorization: Bearer KEY with one of its API_KEYS, or with a signed JWT";
}

/** Finds the caller by `Authorization: Bearer`, a key or a token, for `callerOf`. Throws AppError `unauthorized`. */
export function authenticate(parts: IdentityParts): RequestHandler {
  const { apiKeys, verifyToken } = parts;
  const isOpen = apiKeys === undefined && verifyToken === undefined;
  const findKey = makeFindKey(apiKeys ?? []);
  const needed = `This service needs ${expectedOf(parts)}.`;

  async function callerBy(bearer: string): Promise<Caller> {
    const caller = findKey(bearer);
    if (caller) return caller;
    if (verifyToken && TOKEN.test(bearer)) return verifyToken(bearer);
    throw new AppError("unauthorized", needed);
  }

  return async function authenticateRequest(request, response, next) {
    if (isOpen) {
      response.locals["caller"] = ANYBODY;
      return next();
    }
    const [, bearer = ""] = /^Bearer +(.+)$/i.exec(request.get("authorization") ?? "") ?? [];
    try {
      response.locals["caller"] = await callerBy(bearer);
    } catch (error) {
      if (error instanceof AppError && error.code === "unauthorized") response.set("www-authenticate", "Bearer");
      throw error;
    }
    next();
  };
}
