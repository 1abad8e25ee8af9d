import express, { type Request, type RequestHandler, type Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { assertLooksReadable } from "../../../memory/documents/parsing/parse-document.ts";
import type { StoredPassage } from "../../../stores/postgres/knowledge/chunk-store.ts";
import type { DocumentPlace, DocumentToAdd, StoredDocument } from "../../../stores/postgres/knowledge/document-store.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Memory } from "../../parts/open-memory.ts";
import { limitBody, readJson } from "../../http/read-body.ts";
import { requireWholeTenant } from "../../auth/caller.ts";
import { cutPage } from "../../../stores/page.ts";
import {
  externalId,
  metadata,
  pageQuery,
  PageQuery,
  parseRequest,
  parseUuid,
  storableText,
  toPageRequest,
  wholeNumberField,
} from "../../http/parse-request.ts";
import { file, jsonAnswer, jsonBody, makeRouter, next, operationGroup, route, time } from "../../http/operation.ts";
import { DOCUMENT_TYPES } from "../../../memory/documents/parsing/document.ts";
import { DeletedDocuments, loadBase, params, placeOf, shortText } from "./knowledge-routes.ts";

const MAX_TITLE_CHARACTERS = 500;
const DocumentBody = z.strictObject({
  title: shortText(MAX_TITLE_CHARACTERS),
  text: storableText,
  external_id: externalId.optional(),
  metadata,
});

const DocumentQuery = z.object({ title: shortText(MAX_TITLE_CHARACTERS), external_id: externalId.optional() });

const Document = z.object({
  id: z.uuid(),
  title: z.string(),
  status: z.enum(["pending", "indexed", "failed"]),
  chunk_count: z.int(),
  error: z.string().nullable(),
  can_read_again: z.boolean().describe("Its job gave up, and its file or its pieces are kept."),
  external_id: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
  created_at: time,
});
const DocumentList = z.object({ documents: z.array(Document), next });

const Passage = z.object({
  id: z.uuid(),
  document_id: z.uuid(),
  title: z.string(),
  heading: z.string().describe("The headings above it; empty when there are none."),
  position: z.int().describe("0 for the first of its document."),
  text: z.string(),
});
const MAX_POSITION = 999_999_999;
const PassagesQuery = z.object({
  limit: pageQuery.limit,
  after: wholeNumberField(0, MAX_POSITION).optional().describe("The `next` of the page before."),
});
const PassageList = z.object({ passages: z.array(Passage), next });
const MAX_QUERY_CHARACTERS = 4_000;
const PassageQuery = z.object({
  query: storableText
    .refine((text) => text.trim() !== "", "is blank; say what to look for")
    .refine((text) => text.length <= MAX_QUERY_CHARACTERS, `has more than ${MAX_QUERY_CHARACTERS} characters`)
    .meta({ minLength: 1, maxLength: MAX_QUERY_CHARACTERS }),
  limit: wholeNumberField(1, 50).default(10),
});
const FoundPassages = z.object({
  passages: z.array(Passage.extend({ score: z.number().describe("Comparable within one answer only.") })),
  degraded: z.boolean().describe("Part of the index could not be asked: there may be more."),
});
const files = Object.fromEntries(Object.keys(DOCUMENT_TYPES).map((type) => [type, file]));

export const documentOperations = operationGroup({
  tag: "knowledge",
  schemas: { DocumentBody, Document, DocumentList, Passage, PassageList, FoundPassages },
  routes: {
    listDocuments: route("GET /api/v1/knowledge/:kb/documents", "The documents of a knowledge base, newest first", {
      params,
      query: PageQuery,
      answer: DocumentList,
      errors: ["not_found"],
    }),
    addDocument: route("POST /api/v1/knowledge/:kb/documents", "Adds a document, which a job reads and indexes", {
      details:
        "JSON with title and text, or the file as it is with its content type: then `title` (required) and `external_id` stand in the query. A document with the same `external_id` takes the place of the one before.",
      params,
      query: DocumentQuery.partial(),
      body: { ...jsonBody(DocumentBody), ...files },
      answers: { 202: jsonAnswer(Document, "Taken; `status` in the list tells when it is indexed.") },
      errors: ["not_found", "document_unreadable", "index_unavailable"],
    }),
    findPassages: route("GET /api/v1/knowledge/:kb/passages", "Finds passages of a knowledge base, ranked as in a turn", {
      params,
      query: PassageQuery,
      answer: FoundPassages,
      errors: ["not_found", "index_unavailable"],
    }),
    getPassage: route("GET /api/v1/knowledge/:kb/passages/:passage", "A piece of a document, as a receipt names it", {
      params,
      answer: Passage,
      errors: ["not_found"],
    }),
    listPassages: route(
      "GET /api/v1/knowledge/:kb/documents/:document/passages",
      "The pieces of a document in their order, once it is indexed",
      {
        params,
        query: PassagesQuery,
        answer: PassageList,
        errors: ["not_found"],
      },
    ),
    readDocumentAgain: route("POST /api/v1/knowledge/:kb/documents/:document/read", "Reads a document again whose job gave up", {
      details: "One that is read or waits stays as it is.",
      params,
      answers: { 202: jsonAnswer(Document, "Taken; `status` in the list tells when it is indexed.") },
      errors: ["not_found", "document_unreadable"],
    }),
    deleteDocument: route("DELETE /api/v1/knowledge/:kb/documents/:document", "Deletes a document", {
      params,
      answer: DeletedDocuments,
      errors: ["not_found"],
    }),
  },
});

function parseDocumentRequest(request: Request): DocumentToAdd {
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

/** The largest document in bytes; as JSON text it may take more. */
const MAX_DOCUMENT_BYTES = 20 * 1024 * 1024;

const readDocumentJson = readJson(2 * MAX_DOCUMENT_BYTES);
const readDocumentBytes = limitBody(MAX_DOCUMENT_BYTES, express.raw({ type: () => true, limit: MAX_DOCUMENT_BYTES }));

const readDocumentBody: RequestHandler = (request, response, next) => {
  const isJson = /^application\/json\b/i.test(request.headers["content-type"] ?? "");
  return (isJson ? readDocumentJson : readDocumentBytes)(request, response, next);
};

const toDocument = ({ chunkCount, canReadAgain, externalId, createdAt, ...document }: StoredDocument) => {
  return { ...document, chunk_count: chunkCount, can_read_again: canReadAgain, external_id: externalId, created_at: createdAt };
};

const toPassage = ({ id, documentId, title, heading, position, text }: StoredPassage) => {
  return { id, document_id: documentId, title, heading, position, text };
};

const searchIsOff = (): AppError =>
  new AppError("index_unavailable", "Documents need the search index, which is switched off. Set ENABLE_EPISODIC_MEMORY=true.");

const noSuchDocument = (documentId: string, { prefix }: DocumentPlace): AppError =>
  new AppError("not_found", `There is no document ${documentId} in the knowledge base "${prefix}".`);

export function documentRoutes({
  stores,
  memory,
}: {
  stores: Pick<Stores, "chunks" | "documents" | "knowledgeBases">;
  memory: Memory;
}): Router {
  const { knowledgeBases, documents, chunks } = stores;
  return makeRouter(documentOperations, {
    async listDocuments(request, response) {
      const place = placeOf(request, response);
      const page = toPageRequest(parseRequest(PageQuery, request.query));
      await loadBase(knowledgeBases, place);
      const { items, next } = await documents.list(place, page);
      response.json({ documents: items.map(toDocument), next });
    },
    addDocument: [
      requireWholeTenant,
      readDocumentBody,
      async (request, response) => {
        const place = placeOf(request, response);
        if (!memory.episodes) throw searchIsOff();
        const document = parseDocumentRequest(request);
        assertLooksReadable(document);
        response.status(202).json(toDocument(await documents.add(place, document)));
      },
    ],
    async findPassages(request, response) {
      const place = placeOf(request, response);
      const { query: question, limit } = parseRequest(PassageQuery, request.query);
      await loadBase(knowledgeBases, place);
      if (!memory.episodes) throw searchIsOff();
      const { passages, degraded } = await memory.episodes.memory.findPassages({ ...place, question, by: "hybrid", limit });
      response.json({ passages: passages.map((passage) => ({ ...toPassage(passage), score: passage.score })), degraded });
    },
    async getPassage(request, response) {
      const place = placeOf(request, response);
      const passageId = parseUuid("passage id", request.params["passage"]);
      const [passage] = await chunks.load(place, [passageId]);
      if (!passage) {
        const problem = `There is no passage ${passageId} in the knowledge base "${place.prefix}"; its document may have been replaced or deleted.`;
        throw new AppError("not_found", problem);
      }
      response.json(toPassage(passage));
    },
    async listPassages(request, response) {
      const place = placeOf(request, response);
      const documentId = parseUuid("document id", request.params["document"]);
      const { limit, after = -1 } = parseRequest(PassagesQuery, request.query);
      if (!(await documents.find(place, documentId))) throw noSuchDocument(documentId, place);
      const passages = await chunks.listOf(place, documentId, after, limit + 1);
      const { items, next } = cutPage(passages, limit, ({ position }) => String(position));
      response.json({ passages: items.map(toPassage), next });
    },
    readDocumentAgain: [
      requireWholeTenant,
      async (request, response) => {
        const place = placeOf(request, response);
        const documentId = parseUuid("document id", request.params["document"]);
        const document = await documents.readAgain(place, documentId);
        if (!document) throw noSuchDocument(documentId, place);
        if (document.status === "failed")
          throw new AppError("document_unreadable", `The file of the document ${documentId} is not kept. Mend it and upload it again.`);
        response.status(202).json(toDocument(document));
      },
    ],
    deleteDocument: [
      requireWholeTenant,
      async (request, response) => {
        const place = placeOf(request, response);
        const documentId = parseUuid("document id", request.params["document"]);
        if (!(await documents.remove(place, documentId))) throw noSuchDocument(documentId, place);
        response.json({ deleted: { documents: 1 } });
      },
    ],
  });
}
