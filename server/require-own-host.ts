import { isIP, isIPv4 } from "node:net";
import type { RequestHandler } from "express";
import { AppError } from "../errors/app-error.ts";

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
      "The Host header names another host than this service, which has no keys and answers as localhost only. ALLOWED_HOSTS adds names.",
    );
  };
}
