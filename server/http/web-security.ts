import { isIP, isIPv4 } from "node:net";
import type { RequestHandler } from "express";
import cors from "cors";
import helmet from "helmet";
import { AppError } from "../../errors/app-error.ts";

/** A page sets its own policy. */
const DATA_ONLY = { defaultSrc: ["'none'"], baseUri: ["'none'"], formAction: ["'none'"], frameAncestors: ["'none'"] };

/** A page's policy. Style sheets have icons as data: addresses. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sends HSTS only over https, as a trusted proxy reports it. */
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

const PREFLIGHT_MAX_AGE_S = 600;

/** A page of the internet, such as Studio, asks before it speaks to this machine. `allowOrigins` decides. */
const allowPrivateNetwork: RequestHandler = (request, response, next) => {
  if (request.method === "OPTIONS" && request.get("access-control-request-private-network") === "true")
    response.set("access-control-allow-private-network", "true");
  next();
};

/**
 * `*`: all. Preflights need no key, and cookies are never used. A page may send any header: clients have their own, as Studio's
 * `x-auth-scheme`.
 */
export function allowOrigins(origins: readonly string[]): RequestHandler[] {
  const allow = cors({
    origin: origins.includes("*") ? "*" : [...origins],
    methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    exposedHeaders: [
      "content-location",
      "etag",
      "location",
      "retry-after",
      "x-pagination-next",
      "x-request-id",
      "x-should-retry",
      "x-turn-id",
    ],
    maxAge: PREFLIGHT_MAX_AGE_S,
  });
  return [allowPrivateNetwork, allow];
}

/** Orchestrators ask for these at a pod's address. */
const PROBES = new Set(["/healthz", "/readyz", "/api/v1/health"]);

/** Without port and brackets; empty when invalid. */
function hostnameIn(host: string): string {
  const [, bracketed, plain] = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d*)?$/i.exec(host) ?? [];
  return (bracketed ?? plain ?? "").toLowerCase();
}

const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "::1" || (isIPv4(hostname) && hostname.startsWith("127."));

/**
 * Protects a service without keys from DNS rebinding: a rebound page has the service's own origin, and only Host differs. Probes may use
 * any address, since only names can be rebound.
 */
export function requireOwnHost(allowedHosts: readonly string[] = []): RequestHandler {
  const allowed = new Set(allowedHosts.map((name) => name.toLowerCase()));
  return function refuseOtherHosts(request, _response, next) {
    const { host } = request.headers; // a rebound page may set X-Forwarded-Host
    const hostname = hostnameIn(host ?? "localhost"); // HTTP/1.0 has none
    const isProbe = PROBES.has(request.path) && isIP(hostname) !== 0;
    if (isLoopback(hostname) || allowed.has(hostname) || isProbe) return next();
    throw new AppError(
      "misdirected_request",
      "A service without keys answers only as localhost, and the Host header names another host. Add its name to ALLOWED_HOSTS.",
    );
  };
}

const HARMLESS = new Set(["GET", "HEAD", "OPTIONS"]);
/** `same-site` is another port or subdomain. */
const OTHER_PAGES = new Set(["cross-site", "same-site"]);

function isOwn(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false; // "null", from pages that hide their origin
  const { protocol, host: originHost } = new URL(origin);
  const own = `${protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === originHost;
}

/**
 * Protects from cross-site request forgery by `Sec-Fetch-Site`, which no page can set. Older browsers send only `Origin`. It is compared
 * with Host only without keys: with keys such a request lacks the key, and a proxy may hide the public name.
 */
export function refuseCrossSite({
  corsOrigins = [],
  needsKey,
}: {
  corsOrigins: readonly string[] | undefined;
  needsKey: boolean;
}): RequestHandler {
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
