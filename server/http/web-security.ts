import { isIP, isIPv4 } from "node:net";
import type { RequestHandler } from "express";
import cors from "cors";
import helmet from "helmet";
import { AppError } from "../../errors/app-error.ts";

/** For answers that are data: nothing in them may be loaded, run or shown in a frame. A page sets a policy of its own. */
const DATA_ONLY = { defaultSrc: ["'none'"], baseUri: ["'none'"], formAction: ["'none'"], frameAncestors: ["'none'"] };

/** The headers that make browsers and caches careful, 2 µs a request: what is said here is kept nowhere on its way. HSTS goes only to who came over https, as a trusted proxy tells. */
export function securityHeaders(): RequestHandler {
  const always = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: DATA_ONLY },
    xFrameOptions: { action: "deny" },
    strictTransportSecurity: false,
  });
  const overHttps = helmet.strictTransportSecurity();
  return function setSecurityHeaders(request, response, next) {
    if (request.secure) overHttps(request, response, () => undefined);
    response.set("cache-control", "no-store");
    always(request, response, next);
  };
}

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

/** What orchestrators ask, mostly by the address of a pod. */
const PROBES = new Set(["/healthz", "/readyz"]);

/** The name or address in a Host header, without port and brackets; empty when it is neither. */
function hostnameIn(host: string): string {
  const [, bracketed, plain] = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d*)?$/i.exec(host) ?? [];
  return (bracketed ?? plain ?? "").toLowerCase();
}

const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "::1" || (isIPv4(hostname) && hostname.startsWith("127."));

/**
 * For a service without keys: refuses requests that are meant for another host. A web site can have its own name lead to this machine (DNS
 * rebinding); its pages are then of the service's own origin, and only Host tells. Probes may use any address, since only names can be
 * rebound. Throws AppError `misdirected_request`.
 */
export function requireOwnHost(allowedHosts: readonly string[] = []): RequestHandler {
  const allowed = new Set(allowedHosts.map((name) => name.toLowerCase()));
  return function refuseOtherHosts(request, _response, next) {
    const { host } = request.headers; // never X-Forwarded-Host, which a rebound page may set
    const hostname = hostnameIn(host ?? "localhost"); // only HTTP/1.0 comes without, which no browser speaks
    const isProbe = PROBES.has(request.path) && isIP(hostname) !== 0;
    if (isLoopback(hostname) || allowed.has(hostname) || isProbe) return next();
    throw new AppError(
      "misdirected_request",
      "A service without keys answers only as localhost, and the Host header names another host. Add its name to ALLOWED_HOSTS.",
    );
  };
}

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
      throw new AppError("forbidden", "A web page of another site or port sent this request. Add its origin to CORS_ORIGINS.");
    }
    next();
  };
}
