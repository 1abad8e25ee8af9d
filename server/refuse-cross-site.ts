import type { RequestHandler } from "express";
import { AppError } from "../errors/app-error.ts";

/** What changes nothing; OPTIONS is a browser's own question. */
const HARMLESS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses what a page of another site makes a browser send to change something: without keys there is nothing else that tells it from a
 * person's own. Browsers say so in `Sec-Fetch-Site`, which no page can set; other clients do not send it. Pages of `allowedOrigins` (`*`:
 * all) are let through. Throws AppError `forbidden`.
 */
export function refuseCrossSite(allowedOrigins: readonly string[] = []): RequestHandler {
  return function refuseOtherSites(request, _response, next) {
    const isForeign = request.get("sec-fetch-site") === "cross-site" && !HARMLESS.has(request.method);
    const isAllowed = allowedOrigins.includes("*") || allowedOrigins.includes(request.get("origin") ?? "");
    if (isForeign && !isAllowed) {
      throw new AppError("forbidden", "A web page of another site sent this. CORS_ORIGINS names the origins whose pages may.");
    }
    next();
  };
}
