import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from "jose";
import { AppError } from "../errors/app-error.ts";

const TIMEOUT_MS = 3_000;
/** How long after an answer an unknown key is asked for again: a new key is known within it, a made-up one costs no more than that. */
const COOLDOWN_MS = 5_000;
/** How long after a failure the server is left alone. */
const FAILURE_COOLDOWN_MS = 1_000;
/** After this, keys are asked for anew while the known ones go on serving; one that was withdrawn is gone then. */
const REFRESH_MS = 600_000;

/** Of a token, not of the server. */
const TOKENS_FAULT = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported];

/** Asks with `fetch`, and not at all for a moment after a failure, so that tokens with unknown keys do not pile up on a server that is down. */
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
 * The keys that a JWKS address publishes. Known ones serve on while its server is down; for others it throws AppError `identity_unavailable`
 * then. `onError` is told of refreshes that fail.
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
      throw new AppError(
        "identity_unavailable",
        "The key of this token cannot be asked for: the server at JWT_JWKS_URL does not answer. Try again.",
        {
          cause,
        },
      );
    }
  };
}
