import type { RequestHandler } from "express";
import { AppError } from "../errors/app-error.ts";

/** What changes nothing; OPTIONS is a browser's own question. */
const HARMLESS = new Set(["GET", "HEAD", "OPTIONS"]);
/** What `Sec-Fetch-Site` says of pages that are not of this origin. `same-site` is another port or a sister domain. */
const OTHER_PAGES = new Set(["cross-site", "same-site"]);

export interface CrossSiteParts {
  /** Whose pages are let through; `*`: all. */
  corsOrigins: readonly string[] | undefined;
  /** Whether a caller must show a key or token, which no page has by itself. */
  needsKey: boolean;
}

/** Whether pages of `origin` are those of the service, which was asked as `host`. */
function isOwn(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false; // "null", of pages that hide where they are from
  const { protocol, host: originHost } = new URL(origin);
  const own = `${protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === originHost;
}

/**
 * Refuses what a page of another site or port makes a browser send to change something. Browsers say so in `Sec-Fetch-Site`, which no page
 * can set; other clients do not send it. Older browsers send `Origin` alone. It is compared with Host only without keys: behind a
 * proxy the service may not know its public name, and with keys such a request is stopped by the key that it lacks. Throws AppError
 * `forbidden`.
 */
export function refuseCrossSite({ corsOrigins = [], needsKey }: CrossSiteParts): RequestHandler {
  return function refuseOtherSites(request, _response, next) {
    const origin = request.get("origin");
    const isAllowed = corsOrigins.includes("*") || corsOrigins.includes(origin ?? "");
    if (HARMLESS.has(request.method) || isAllowed) return next();
    const hasForeignOrigin = !needsKey && origin !== undefined && !isOwn(origin, request.headers.host ?? "");
    if (hasForeignOrigin || OTHER_PAGES.has(request.get("sec-fetch-site") ?? "")) {
      throw new AppError("forbidden", "A web page of another site or port sent this. CORS_ORIGINS names the origins whose pages may.");
    }
    next();
  };
}
