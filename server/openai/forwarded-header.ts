import { isUtf8 } from "node:buffer";
import type { Request } from "express";
import { z } from "zod";
import { parseRequest } from "../parse-request.ts";
import { callerId } from "../request-fields.ts";

/** Something a caller gave, and the field or header it came in, for errors. */
export interface Given {
  field: string;
  value: string;
}

/** What front ends send where they have nothing to send: an unresolved placeholder, or the word of their language for nothing. */
const NOTHING = /^(new|null|undefined|none|\{\{.*\}\})?$/i;

/** A value as given; undefined when it says nothing. */
export function given(field: string, value: unknown): Given | undefined {
  return typeof value === "string" && !NOTHING.test(value.trim()) ? { field, value } : undefined;
}

/** The first of these headers that says something. Node reads headers as Latin-1; what was sent as UTF-8 is read as that. */
export function firstHeader(request: Request, names: readonly string[]): Given | undefined {
  for (const name of names) {
    const raw = request.get(name);
    const bytes = Buffer.from(raw ?? "", "latin1");
    const found = given(name, isUtf8(bytes) ? bytes.toString("utf8") : raw);
    if (found) return found;
  }
  return undefined;
}

/** An id that a caller gave, by its field. Throws AppError `invalid_request`. */
export function checkedId({ field, value }: Given): string {
  parseRequest(z.object({ [field]: callerId }), { [field]: value });
  return value;
}
