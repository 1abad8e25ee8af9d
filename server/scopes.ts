import type { RequestHandler, Response } from "express";
import { AppError } from "../errors/app-error.ts";
import { callerOf } from "./caller.ts";

const READING = new Set(["GET", "HEAD"]);

/** Lets a caller of scope `read` only read: GET and HEAD. Throws AppError `forbidden`. */
export const requireScope: RequestHandler = (request, response, next) => {
  if (callerOf(response).scope === "read" && !READING.has(request.method)) {
    throw new AppError("forbidden", `This key or token may only read; ${request.method} needs one of scope write.`);
  }
  next();
};

/** For what belongs to a tenant as a whole: refuses whoever is one of its users. Throws AppError `forbidden`. */
export function assertWholeTenant(response: Response): void {
  if (callerOf(response).userId !== null) {
    throw new AppError("forbidden", "This concerns every user of the tenant; it needs a token of scope admin, or a key.");
  }
}

export const requireWholeTenant: RequestHandler = (_request, response, next) => {
  assertWholeTenant(response);
  next();
};
