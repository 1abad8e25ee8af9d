import { createSecretKey, type KeyObject } from "node:crypto";
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey, type JWTVerifyOptions } from "jose";
import { AppError } from "../../errors/app-error.ts";
import type { Caller } from "./caller.ts";
import { type Scope, SCOPES, TENANT_ID } from "../settings/api-keys.ts";
import { callerId } from "../http/parse-request.ts";
import type { Config } from "../settings/config.ts";

const CLOCK_TOLERANCE_S = 30;
const SHARED_SECRET = ["HS256", "HS384", "HS512"];
/** Excludes HS256: everybody knows a published key, which as a secret would sign anything. */
const PUBLISHED_KEY = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];

/** Throws AppError `unauthorized`, or `identity_unavailable` when the token's key cannot be fetched. */
export type VerifyToken = (token: string) => Promise<Caller>;

type TokenConfig = Pick<Config, "JWT_SECRET" | "JWT_JWKS_URL" | "JWT_ISSUER" | "JWT_AUDIENCE" | "JWT_USER_CLAIM" | "JWT_TENANT_CLAIM">;

const refuse = (message: string, cause?: unknown): AppError => new AppError("unauthorized", message, { cause });

/** Why a token is refused. Claims are read only after the signature is verified. */
function toRefusal(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof errors.JWTExpired) return refuse("The token has expired. Get a new one.", error);
  if (error instanceof errors.JWTClaimValidationFailed) {
    const problem = error.reason === "missing" ? "is missing" : "is not one that this service takes, or not yet";
    return refuse(`The token's claim "${error.claim}" ${problem}.`, error);
  }
  const taken = "it takes JWTs of the configured algorithm, signed by a key it trusts";
  return refuse(`The token is none that this service can verify: ${taken}.`, error);
}

function textClaim(payload: JWTPayload, claim: string): string {
  const value = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
  if (typeof value === "string") return value;
  throw refuse(`The token's claim "${claim}" ${value === undefined ? "is missing" : "is not a string"}.`);
}

function userClaim(payload: JWTPayload, claim: string): string {
  const user = callerId.safeParse(textClaim(payload, claim));
  if (!user.success) throw refuse(`The token's claim "${claim}" is no user id: it ${user.error.issues[0]?.message}.`);
  return user.data;
}

function tenantClaim(payload: JWTPayload, claim: string | undefined): string {
  if (claim === undefined) return "default";
  const tenantId = textClaim(payload, claim);
  if (!TENANT_ID.test(tenantId))
    throw refuse(`The token's claim "${claim}" is no tenant: 1 to 64 letters, digits, dots, dashes and underscores.`);
  return tenantId;
}

/** The highest known scope in the claims `scope`, `scp` and `scopes`, else `write`. */
function scopeOf(payload: JWTPayload): Scope {
  const named = ["scope", "scp", "scopes"].flatMap((claim) => {
    const value = payload[claim];
    if (value === undefined) return [];
    if (typeof value === "string") return value.split(" ");
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
    throw refuse(`The token's claim "${claim}" is neither a string nor an array of strings.`);
  });
  return SCOPES.findLast((scope) => named.includes(scope)) ?? "write";
}

function trustedKeys({ JWT_SECRET, JWT_JWKS_URL }: TokenConfig, onError: (error: unknown) => void) {
  if (JWT_JWKS_URL !== undefined) return { keyOf: makePublishedKeys(new URL(JWT_JWKS_URL), { onError }), algorithms: PUBLISHED_KEY };
  if (JWT_SECRET === undefined) return undefined;
  const secret = createSecretKey(Buffer.from(JWT_SECRET));
  return { keyOf: (): Promise<KeyObject> => Promise.resolve(secret), algorithms: SHARED_SECRET };
}

/** Undefined without a secret or published keys. A token acts for the user it names; scope `admin` acts for every user of its tenant. */
export function makeVerifyToken(config: TokenConfig, onError: (error: unknown) => void): VerifyToken | undefined {
  const { JWT_ISSUER, JWT_AUDIENCE, JWT_USER_CLAIM, JWT_TENANT_CLAIM } = config;
  const trusted = trustedKeys(config, onError);
  if (!trusted) return undefined;
  const options: JWTVerifyOptions = {
    algorithms: trusted.algorithms,
    clockTolerance: CLOCK_TOLERANCE_S,
    requiredClaims: ["exp"],
    ...(JWT_ISSUER === undefined ? {} : { issuer: JWT_ISSUER }),
    ...(JWT_AUDIENCE === undefined ? {} : { audience: JWT_AUDIENCE }),
  };
  return async function verifyToken(token) {
    const { payload } = await jwtVerify(token, trusted.keyOf, options).catch((error: unknown) => {
      throw toRefusal(error);
    });
    const user = userClaim(payload, JWT_USER_CLAIM);
    const scope = scopeOf(payload);
    return { tenantId: tenantClaim(payload, JWT_TENANT_CLAIM), userId: scope === "admin" ? null : user, scope, everyTenant: false };
  };
}

const TIMEOUT_MS = 3_000;
/** Time between two fetches for unknown keys. Invented ones cause no more fetches. */
const COOLDOWN_MS = 5_000;
const FAILURE_COOLDOWN_MS = 1_000;
/** Time between two background fetches, which drop withdrawn keys. */
const REFRESH_MS = 600_000;

/** Errors of a token, not of the server. */
const TOKENS_FAULT = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported];

/** A `fetch` that pauses after a failure: requests do not pile up on a server that is down. */
function makePatientFetch(): (url: string, options: RequestInit) => Promise<Response> {
  let failure: { error: unknown; at: number } | undefined;
  return async function patientFetch(url, options) {
    if (failure && Date.now() - failure.at < FAILURE_COOLDOWN_MS) throw failure.error;
    try {
      const response = await fetch(url, options);
      if (response.status !== 200) throw new Error(`the keys' server answered ${response.status}`);
      failure = undefined;
      return response;
    } catch (error) {
      failure = { error, at: Date.now() };
      throw error;
    }
  };
}

/**
 * The keys at a JWKS address. While its server is down, known keys still verify; others throw AppError `identity_unavailable`. `onError`
 * gets failed refreshes.
 */
export function makePublishedKeys(
  url: URL,
  { onError, refreshMs = REFRESH_MS }: { onError: (error: unknown) => void; refreshMs?: number },
): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(url, {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: Infinity, // a stale key would make every token wait for the server, and fail with it
    [customFetch]: makePatientFetch(),
  });
  let askedAt = Date.now();
  return async function publishedKey(header, token) {
    if (keys.jwks() && Date.now() - askedAt > refreshMs) {
      askedAt = Date.now();
      keys.reload().catch(onError);
    }
    try {
      return await keys(header, token);
    } catch (cause) {
      if (TOKENS_FAULT.some((fault) => cause instanceof fault)) throw cause;
      const problem = "The key that signed this token cannot be fetched: the server at JWT_JWKS_URL does not answer. Try again.";
      throw new AppError("identity_unavailable", problem, { cause });
    }
  };
}
