import express, { Router, type Request, type RequestHandler, type Response } from "express";
import { AppError } from "../errors/app-error.ts";
import { assertReadable } from "../memory/documents/sniff-document.ts";
import type { ChunkStore } from "../stores/postgres/chunk-store.ts";
import type { DocumentStore, StoredDocument } from "../stores/postgres/document-store.ts";
import type { KnowledgeBaseStore } from "../stores/postgres/knowledge-base-store.ts";
import type { KnowledgeBase } from "../stores/knowledge-catalog.ts";
import { assertUtf8 } from "./assert-utf8.ts";
import { tenantOf } from "./caller.ts";
import { parseDocumentRequest, parseKnowledgeBase, prefixOf } from "./knowledge-request.ts";
import { bodyWithin } from "./limits/body-within.ts";
import { parseRequest } from "./parse-request.ts";
import { PageQuery, parseUuid, toPageRequest } from "./request-fields.ts";
import { requireJson } from "./require-json.ts";
import { requireWholeTenant } from "./scopes.ts";

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

const readDocumentJson = bodyWithin(2 * MAX_DOCUMENT_BYTES, express.json({ limit: 2 * MAX_DOCUMENT_BYTES, verify: assertUtf8 }));
const readDocumentBytes = bodyWithin(MAX_DOCUMENT_BYTES, express.raw({ type: () => true, limit: MAX_DOCUMENT_BYTES }));

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
      bodyWithin(MAX_BASE_BYTES, express.json({ limit: MAX_BASE_BYTES, verify: assertUtf8 })),
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
      assertReadable(document);
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
