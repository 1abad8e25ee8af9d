import express, { type Request, type RequestHandler, type Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { assertLooksReadable } from "../../memory/parsing/check-content.ts";
import type { ChunkStore } from "../../stores/postgres/knowledge/chunk-store.ts";
import type { DocumentStore, DocumentToAdd, StoredDocument } from "../../stores/postgres/knowledge/document-store.ts";
import type { KnowledgeBaseStore } from "../../stores/postgres/knowledge/knowledge-base-store.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { assertUtf8, limitBody, requireJson } from "../http/read-body.ts";
import { requireWholeTenant, tenantOf } from "../auth/caller.ts";
import { externalId, metadata, PageQuery, parseRequest, parseUuid, storableText, toPageRequest } from "../http/parse-request.ts";
import { GENERAL } from "../../nodes/routing/route-by-words.ts";

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

/** The largest document, in bytes; text in JSON may take more. */
const MAX_DOCUMENT_BYTES = 20 * 1024 * 1024;

export interface KnowledgeRouteParts {
  knowledgeBases: KnowledgeBaseStore;
  chunks: Pick<ChunkStore, "load">;
  documents: DocumentStore;
  /** Without an index, documents are refused. */
  hasIndex: boolean;
}

const toBase = ({ prefix, description, keywords, worker }: KnowledgeBase) => {
  return { kb_prefix: prefix, description, keywords, ...(worker === undefined ? {} : { worker }) };
};

const toDocument = ({ id, title, status, chunkCount, error, externalId, metadata, createdAt }: StoredDocument) => {
  return { id, title, status, chunk_count: chunkCount, error, external_id: externalId, metadata, created_at: createdAt };
};

/** Bytes of the description of a knowledge base. */
const MAX_BASE_BYTES = 100 * 1024;

const readDocumentJson = limitBody(2 * MAX_DOCUMENT_BYTES, express.json({ limit: 2 * MAX_DOCUMENT_BYTES, verify: assertUtf8 }));
const readDocumentBytes = limitBody(MAX_DOCUMENT_BYTES, express.raw({ type: () => true, limit: MAX_DOCUMENT_BYTES }));

/** JSON is parsed, anything else is kept as its bytes. */
const readDocumentBody: RequestHandler = (request, response, next) => {
  const isJson = /^application\/json\b/i.test(request.headers["content-type"] ?? "");
  return (isJson ? readDocumentJson : readDocumentBytes)(request, response, next);
};

/** Knowledge bases and their documents. */
export function knowledgeRoutes({ knowledgeBases, documents, chunks, hasIndex }: KnowledgeRouteParts): Router {
  const placeOf = (request: Request, response: Response) => ({ tenantId: tenantOf(response), prefix: prefixOf(request) });
  const noSuchBase = (prefix: string): AppError => new AppError("not_found", `There is no knowledge base "${prefix}".`);

  async function assertBase({ tenantId, prefix }: { tenantId: string; prefix: string }): Promise<KnowledgeBase> {
    const base = await knowledgeBases.find(tenantId, prefix);
    if (!base) throw noSuchBase(prefix);
    return base;
  }

  return Router()
    .get("/knowledge", async (_request, response) => {
      response.json({ knowledge: (await knowledgeBases.list(tenantOf(response))).map(toBase) });
    })
    .get("/knowledge/:kb", async (request, response) => {
      response.json(toBase(await assertBase(placeOf(request, response))));
    })
    .put(
      "/knowledge/:kb",
      requireWholeTenant,
      requireJson,
      limitBody(MAX_BASE_BYTES, express.json({ limit: MAX_BASE_BYTES, verify: assertUtf8 })),
      async (request, response) => {
        const { tenantId, prefix } = placeOf(request, response);
        const { description, keywords, worker } = parseKnowledgeBase(request.body);
        const base = { prefix, description, keywords, ...(worker === undefined ? {} : { worker }) };
        const isNew = await knowledgeBases.put(tenantId, base);
        response.status(isNew ? 201 : 200).json(toBase(base));
      },
    )
    .delete("/knowledge/:kb", requireWholeTenant, async (request, response) => {
      const { tenantId, prefix } = placeOf(request, response);
      const removed = await knowledgeBases.remove(tenantId, prefix);
      if (removed === null) throw noSuchBase(prefix);
      response.json({ deleted: { documents: removed } });
    })
    .get("/knowledge/:kb/documents", async (request, response) => {
      const place = placeOf(request, response);
      const page = toPageRequest(parseRequest(PageQuery, request.query));
      await assertBase(place);
      const { items, next } = await documents.list(place, page);
      response.json({ documents: items.map(toDocument), next });
    })
    .post("/knowledge/:kb/documents", requireWholeTenant, readDocumentBody, async (request, response) => {
      const place = placeOf(request, response);
      if (!hasIndex) {
        throw new AppError("index_unavailable", "Documents need the search index, which is switched off. Set ENABLE_EPISODIC_MEMORY=true.");
      }
      const document = parseDocumentRequest(request);
      assertLooksReadable(document);
      response.status(202).json(toDocument(await documents.add(place, document)));
    })
    .get("/knowledge/:kb/passages/:passage", async (request, response) => {
      const place = placeOf(request, response);
      const passageId = parseUuid("passage id", request.params["passage"]);
      const [passage] = await chunks.load(place, [passageId]);
      if (!passage) {
        const problem = `There is no passage ${passageId} in the knowledge base "${place.prefix}"; its document may have been replaced or deleted.`;
        throw new AppError("not_found", problem);
      }
      const { id, documentId, title, heading, position, text } = passage;
      response.json({ id, document_id: documentId, title, heading, position, text });
    })
    .delete("/knowledge/:kb/documents/:document", requireWholeTenant, async (request, response) => {
      const place = placeOf(request, response);
      const documentId = parseUuid("document id", request.params["document"]);
      if (!(await documents.remove(place, documentId))) {
        throw new AppError("not_found", `There is no document ${documentId} in the knowledge base "${place.prefix}".`);
      }
      response.json({ deleted: { documents: 1 } });
    });
}
