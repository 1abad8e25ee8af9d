import { createHash, timingSafeEqual } from "node:crypto";
import type { RequestHandler } from "express";
import { AppError } from "../../errors/app-error.ts";
import { ANYBODY, type Caller } from "./caller.ts";
import { makeFailedKeys } from "./failed-keys.ts";
import type { ApiKey } from "./api-keys.ts";
import type { VerifyToken } from "./verify-token.ts";

/** Who is let in. Without either everybody is (the service then listens on this machine only). */
export interface IdentityParts {
  apiKeys: ApiKey[] | undefined;
  verifyToken: VerifyToken | undefined;
}

/** Whether a caller must show who it is. */
export const needsIdentity = ({ apiKeys, verifyToken }: IdentityParts): boolean => apiKeys !== undefined || verifyToken !== undefined;

const digest = (key: string): Buffer => createHash("sha256").update(key).digest();
/** Three parts of base64url: what no other bearer looks like but a key that was chosen so. */
const TOKEN = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Finds the caller of a key. Only hashes stay in memory, and every one is compared, so that the time tells nothing. */
function makeFindKey(apiKeys: readonly ApiKey[]): (given: Buffer) => Caller | undefined {
  const known = apiKeys.map(({ key, tenantId, scope }) => {
    const caller: Caller = { tenantId, userId: null, scope, everyTenant: scope === "admin" };
    return { hash: digest(key), caller };
  });
  return function findKey(given) {
    return known.filter(({ hash }) => timingSafeEqual(hash, given))[0]?.caller;
  };
}

/** What to send instead, in words. */
function expectedOf({ apiKeys, verifyToken }: IdentityParts): string {
  if (!verifyToken) return "a key: send the header Authorization: Bearer KEY with one of its API_KEYS";
  if (!apiKeys) return "a token: send the header Authorization: Bearer TOKEN with a signed JWT";
  return "a key or a token: send the header Authorization: Bearer KEY with one of its API_KEYS, or with a signed JWT";
}

/**
 * Finds the caller by `Authorization: Bearer`, a key or a token, for `callerOf`. Throws AppError `unauthorized`, and `rate_limited` for an
 * address from which too many wrong keys came; tokens are not counted, since nobody guesses a signature.
 */
export function authenticate(parts: IdentityParts): RequestHandler {
  const { apiKeys, verifyToken } = parts;
  const isOpen = !needsIdentity(parts);
  const findKey = makeFindKey(apiKeys ?? []);
  const needed = `This service needs ${expectedOf(parts)}.`;

  const failedKeys = makeFailedKeys();

  async function callerOfKey(key: string, address: string): Promise<Caller> {
    const hash = digest(key);
    const name = hash.toString("base64url");
    await failedKeys.assertMayTry(address, name);
    const caller = findKey(hash);
    if (caller) {
      failedKeys.worked(address, name);
      return caller;
    }
    await failedKeys.failed(address);
    throw new AppError("unauthorized", needed);
  }

  async function callerBy(bearer: string, address: string): Promise<Caller> {
    if (bearer === "") throw new AppError("unauthorized", needed);
    if (verifyToken && TOKEN.test(bearer)) return findKey(digest(bearer)) ?? verifyToken(bearer);
    return callerOfKey(bearer, address);
  }

  return async function authenticateRequest(request, response, next) {
    if (isOpen) {
      response.locals["caller"] = ANYBODY;
      return next();
    }
    const [, bearer = ""] = /^Bearer +(\S.*)$/i.exec(request.get("authorization") ?? "") ?? [];
    try {
      response.locals["caller"] = await callerBy(bearer, request.ip ?? "");
    } catch (error) {
      if (error instanceof AppError && error.code === "unauthorized") response.set("www-authenticate", "Bearer");
      throw error;
    }
    next();
  };
}
