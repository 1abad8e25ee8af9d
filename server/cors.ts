import cors from "cors";
import type { RequestHandler } from "express";

/** What a page may do without being asked again, in seconds. */
const PREFLIGHT_MAX_AGE_S = 600;

/**
 * Lets web pages of these origins call the service; `*` stands for every one. Preflights are answered here, without a key. A page proves who it is by a
 * header that it sets itself, so cookies are never asked for.
 */
export function allowOrigins(origins: readonly string[]): RequestHandler {
  return cors({
    origin: origins.includes("*") ? "*" : [...origins],
    methods: ["GET", "HEAD", "POST", "PUT", "DELETE"],
    allowedHeaders: ["authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "last-event-id", "x-session-id"],
    exposedHeaders: ["etag", "location", "retry-after", "x-request-id", "x-turn-id"],
    maxAge: PREFLIGHT_MAX_AGE_S,
  });
}
