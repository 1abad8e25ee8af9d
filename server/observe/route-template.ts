import type { Request } from "express";

/** Where routers are mounted; the mount path of a request is as the client spelt it, and is forgotten on the way to an error. */
const MOUNT = /^\/(api\/v1|v1)(?=\/)/i;
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** The template of the route that answered, as the README lists it: one of as many as there are in the code. `unmatched` without one. */
export function routeTemplate({ route, originalUrl }: Pick<Request, "originalUrl"> & { route?: unknown }): string {
  const path = (route as { path?: unknown } | undefined)?.path;
  if (typeof path !== "string") return "unmatched";
  const mount = MOUNT.exec(originalUrl)?.[0].toLowerCase() ?? "";
  return path.startsWith(`${mount}/`) ? path : mount + path;
}

/** The method, or `other` for one that no route has. */
export function methodLabel(method: string): string {
  return METHODS.has(method) ? method : "other";
}
