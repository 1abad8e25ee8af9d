import type { RequestHandler } from "express";
import { AppError } from "../../errors/app-error.ts";
import { OPERATIONS } from "./operations.ts";

/** As Express matches: `:id` is a part of a path, `*id` all the rest. */
const toExpression = (path: string): RegExp =>
  new RegExp(`^${path.replace(/\./g, "\\.").replace(/:\w+/g, "[^/]+").replace(/\*\w+/g, ".+")}/?$`, "i");
const ROUTES = OPERATIONS.map(({ method, path }) => ({ method: method.toUpperCase(), path: toExpression(path) }));

/** 405 with `Allow` where other methods are known, else 404. */
export const unknownRoute: RequestHandler = ({ method, path }, response) => {
  const known = ROUTES.filter((route) => route.path.test(path)).map((route) => route.method);
  const allowed = [...new Set(known.includes("GET") ? [...known, "HEAD"] : known)];
  if (allowed.length === 0 || allowed.includes(method))
    throw new AppError("not_found", `There is no ${method} ${path}. /docs and /openapi.json list the routes.`);
  response.set("allow", allowed.join(", "));
  throw new AppError("method_not_allowed", `${path} takes no ${method}. Send ${allowed.join(" or ")}; /docs says what it wants.`);
};
