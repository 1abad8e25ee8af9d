import type { RequestHandler } from "express";
import { AppError } from "../../errors/app-error.ts";
import { ANYBODY, type Caller } from "./caller.ts";
import { makeFailedKeys } from "./failed-keys.ts";
import type { ApiKey } from "../settings/api-keys.ts";
import type { VerifyToken } from "./verify-token.ts";
import { createHash, timingSafeEqual } from "node:crypto";

const digest = (key: string): Buffer => createHash("sha256").update(key).digest();

/** Finds the caller of a key's hash. It compares every hash, so that the time reveals nothing. */
function makeFindKey(apiKeys: readonly ApiKey[]): (given: Buffer) => Caller | undefined {
  const known = apiKeys.map(({ key, tenantId, scope }) => {
    const caller: Caller = { tenantId, userId: null, scope, everyTenant: scope === "admin" };
    return { hash: digest(key), caller };
  });
  return function findKey(given) {
    return known.filter(({ hash }) => timingSafeEqual(hash, given))[0]?.caller;
  };
}

/** How callers identify themselves. Without either everybody is admitted. */
export interface IdentityParts {
  apiKeys: ApiKey[] | undefined;
  verifyToken: VerifyToken | undefined;
}

export const needsIdentity = ({ apiKeys, verifyToken }: IdentityParts): boolean => apiKeys !== undefined || verifyToken !== undefined;

/** A JWT. A key may look the same, so keys are tried first. */
const TOKEN = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Clients of LangGraph's protocol send a key as `x-api-key`. */
const LANGGRAPH_PATH = /^\/langgraph(\/|$)/i;

function describeExpected({ apiKeys, verifyToken }: IdentityParts): string {
  if (!verifyToken) return "a key: send the header Authorization: Bearer KEY with one of its API_KEYS";
  if (!apiKeys) return "a token: send the header Authorization: Bearer TOKEN with a signed JWT";
  return "a key or a token: send the header Authorization: Bearer KEY with one of its API_KEYS, or with a signed JWT";
}

/**
 * Throws AppError `unauthorized`, or `rate_limited` after too many wrong keys. Wrong tokens are not counted: nobody guesses a signature.
 */
export function authenticate(parts: IdentityParts): RequestHandler {
  const { apiKeys, verifyToken } = parts;
  const isOpen = !needsIdentity(parts);
  const findKey = makeFindKey(apiKeys ?? []);
  const needed = `This service needs ${describeExpected(parts)}.`;

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
    const ofHeader = /^Bearer +(\S.*)$/i.exec(request.get("authorization") ?? "")?.[1];
    const bearer = ofHeader ?? (LANGGRAPH_PATH.test(request.path) ? request.get("x-api-key") : undefined) ?? "";
    try {
      response.locals["caller"] = await callerBy(bearer, request.ip ?? "");
    } catch (error) {
      if (error instanceof AppError && error.code === "unauthorized") response.set("www-authenticate", "Bearer");
      throw error;
    }
    next();
  };
}
