import type { Request } from "express";
import { z } from "zod";
import { AppError } from "../errors/app-error.ts";
import { GENERAL } from "../nodes/routing/decide-route.ts";
import type { DocumentToAdd } from "../stores/postgres/document-store.ts";
import { parseRequest } from "./parse-request.ts";
import { externalId, metadata, storableText } from "./request-fields.ts";

/** Names of knowledge bases stand in addresses and events. */
export const PREFIX = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const MAX_DESCRIPTION_CHARACTERS = 2_000;
const MAX_TITLE_CHARACTERS = 500;

const shortText = (limit: number) =>
  storableText
    .transform((text) => text.trim())
    .refine((text) => text !== "", "is blank")
    .refine((text) => text.length <= limit, `has more than ${limit} characters`)
    .meta({ minLength: 1, maxLength: limit });

export const KnowledgeBody = z.strictObject({
  description: shortText(MAX_DESCRIPTION_CHARACTERS),
  keywords: z.array(shortText(100), "must be an array of words").max(200, "has more than 200 words").default([]),
  worker: z.string("must be a name").regex(PREFIX, "must be a name of small letters, digits, dash and underscore").optional(),
});

export const DocumentBody = z.strictObject({
  title: shortText(MAX_TITLE_CHARACTERS),
  text: storableText,
  external_id: externalId.optional(),
  metadata,
});

export const DocumentQuery = z.object({ title: shortText(MAX_TITLE_CHARACTERS), external_id: externalId.optional() });

/** The knowledge base in a request's path. Throws AppError `invalid_request`. */
export function prefixOf(request: Request): string {
  const prefix = String(request.params["kb"]);
  if (PREFIX.test(prefix) && prefix !== GENERAL) return prefix;
  throw AppError.invalid([
    {
      field: "kb",
      problem: `"${prefix.slice(0, 80)}" cannot be the name of a knowledge base: 1 to 64 small letters, digits, dashes and underscores, and not "${GENERAL}", which means none`,
    },
  ]);
}

export function parseKnowledgeBase(body: unknown) {
  return parseRequest(KnowledgeBody, body);
}

/** A document in a request: JSON with title and text, or a file as it is, with its title in the address. */
export function parseDocumentRequest(request: Request): DocumentToAdd {
  if (request.is("application/json")) {
    const { title, text, external_id, metadata: facts } = parseRequest(DocumentBody, request.body);
    const bytes = new TextEncoder().encode(text);
    return { title, contentType: "text/markdown", bytes, externalId: external_id ?? null, metadata: facts };
  }
  const { title, external_id } = parseRequest(DocumentQuery, request.query);
  return {
    title,
    contentType: request.get("content-type") ?? "",
    bytes: Buffer.isBuffer(request.body) ? request.body : new Uint8Array(),
    externalId: external_id ?? null,
    metadata: {},
  };
}
