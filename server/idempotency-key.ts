import { createHash } from "node:crypto";
import type { Request } from "express";
import { AppError } from "../errors/app-error.ts";
import type { ChatRequest } from "./chat-request.ts";

/** Printable ASCII without the space. */
export const KEY = /^[\x21-\x7E]{1,200}$/;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** The hash of the request's Idempotency-Key; null without one. Throws AppError `invalid_request`. */
export function keyHashOf(request: Request): string | null {
  const key = request.get("idempotency-key");
  if (key === undefined) return null;
  if (KEY.test(key)) return sha256(key);
  throw AppError.invalid([
    { field: "Idempotency-Key", problem: "must have 1 to 200 visible ASCII characters, without spaces; a UUID will do" },
  ]);
}

/** Of the request as it was understood: spelling, order and defaults make no difference. */
export function bodyHashOf(body: ChatRequest): string {
  return sha256(JSON.stringify(Object.entries(body).toSorted(([one], [other]) => (one < other ? -1 : 1))));
}
