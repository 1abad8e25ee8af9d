import { createSecretKey } from "node:crypto";
import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions } from "jose";
import { AppError } from "../errors/app-error.ts";
import { SCOPES, TENANT_ID, type Caller, type Scope } from "./caller.ts";
import { makePublishedKeys } from "./published-keys.ts";
import { callerId } from "./request-fields.ts";

/** By how many seconds two clocks may differ. */
const CLOCK_TOLERANCE_S = 30;
const SHARED_SECRET = ["HS256", "HS384", "HS512"];
/** A published key verifies no HS256: its text is known to everybody, and as a secret it would sign anything. */
const PUBLISHED_KEY = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];

/** Whose a signed token is. Throws AppError `unauthorized`, or `identity_unavailable` when its key cannot be asked for. */
export type VerifyToken = (token: string) => Promise<Caller>;

export interface TokenConfig {
  JWT_SECRET?: string | undefined;
  JWT_JWKS_URL?: string | undefined;
  JWT_ISSUER?: string | undefined;
  JWT_AUDIENCE?: string | undefined;
  JWT_USER_CLAIM: string;
  JWT_TENANT_CLAIM?: string | undefined;
}

const refuse = (message: string, cause?: unknown): AppError => new AppError("unauthorized", message, { cause });

/** What a client may know of why its token is refused. Claims are looked at only after the signature. */
function toRefusal(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof errors.JWTExpired) return refuse("The token has expired. Get a new one.", error);
  if (error instanceof errors.JWTClaimValidationFailed) {
    const problem = error.reason === "missing" ? "is missing" : "is not one that this service takes, or not yet";
    return refuse(`The token's claim "${error.claim}" ${problem}.`, error);
  }
  return refuse(
    "The token is none that this service can verify: it takes JWTs of the configured algorithm, signed by a key it trusts.",
    error,
  );
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

/** The highest scope of ours that a token names in `scope`, `scp` or `scopes`; `write` when it names none. */
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

/** The keys that may sign, and how; undefined when none are configured. */
function trustedKeys(
  { JWT_SECRET, JWT_JWKS_URL }: Pick<TokenConfig, "JWT_SECRET" | "JWT_JWKS_URL">,
  onError: (error: unknown) => void,
): { keyOf: JWTVerifyGetKey; algorithms: string[] } | undefined {
  if (JWT_JWKS_URL !== undefined) return { keyOf: makePublishedKeys(new URL(JWT_JWKS_URL), { onError }), algorithms: PUBLISHED_KEY };
  if (JWT_SECRET === undefined) return undefined;
  const secret = createSecretKey(Buffer.from(JWT_SECRET));
  return { keyOf: async () => secret, algorithms: SHARED_SECRET };
}

/**
 * Verifies JWTs of a shared secret or of published keys, as configured; undefined when neither is. A token without scope `admin` acts for the
 * user it names and nobody else; one with it for every user of its tenant, but of no other tenant.
 */
export function makeVerifyToken(config: TokenConfig, onError: (error: unknown) => void): VerifyToken | undefined {
  const { JWT_SECRET, JWT_JWKS_URL, JWT_ISSUER, JWT_AUDIENCE, JWT_USER_CLAIM, JWT_TENANT_CLAIM } = config;
  const trusted = trustedKeys({ JWT_SECRET, JWT_JWKS_URL }, onError);
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
    return {
      tenantId: tenantClaim(payload, JWT_TENANT_CLAIM),
      userId: scope === "admin" ? null : user,
      scope,
      everyTenant: false,
    };
  };
}
