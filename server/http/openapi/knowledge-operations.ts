import { z } from "zod";
import { DOCUMENT_TYPES } from "../../../memory/parsing/document.ts";
import { DocumentBody, DocumentQuery, KnowledgeBody, PREFIX } from "../../knowledge/knowledge-routes.ts";
import { PageQuery } from "../parse-request.ts";
import { DeletedDocuments, Document, DocumentList, KnowledgeBase, KnowledgeList, Passage } from "./answers.ts";
import { BODY_ERRORS, file, jsonAnswer, jsonBody, type Operation } from "./operation.ts";

const tag = "knowledge";
const base = { kb: z.string().regex(PREFIX).describe("The name of a knowledge base; `general` means none.") };

export const KNOWLEDGE_OPERATIONS: readonly Operation[] = [
  {
    id: "listKnowledgeBases",
    method: "get",
    path: "/api/v1/knowledge",
    tag,
    summary: "All knowledge bases",
    answers: { 200: jsonAnswer(KnowledgeList) },
  },
  {
    id: "getKnowledgeBase",
    method: "get",
    path: "/api/v1/knowledge/:kb",
    tag,
    summary: "One knowledge base",
    params: base,
    answers: { 200: jsonAnswer(KnowledgeBase) },
    errors: ["not_found"],
  },
  {
    id: "putKnowledgeBase",
    method: "put",
    path: "/api/v1/knowledge/:kb",
    tag,
    summary: "Makes a knowledge base, or changes it",
    params: base,
    body: jsonBody(KnowledgeBody),
    answers: { 200: jsonAnswer(KnowledgeBase, "Changed."), 201: jsonAnswer(KnowledgeBase, "Made.") },
    errors: BODY_ERRORS,
  },
  {
    id: "deleteKnowledgeBase",
    method: "delete",
    path: "/api/v1/knowledge/:kb",
    tag,
    summary: "Deletes a knowledge base with its documents",
    params: base,
    answers: { 200: jsonAnswer(DeletedDocuments) },
    errors: ["not_found"],
  },
  {
    id: "listDocuments",
    method: "get",
    path: "/api/v1/knowledge/:kb/documents",
    tag,
    summary: "The documents of a knowledge base, newest first",
    params: base,
    query: PageQuery,
    answers: { 200: jsonAnswer(DocumentList) },
    errors: ["not_found"],
  },
  {
    id: "addDocument",
    method: "post",
    path: "/api/v1/knowledge/:kb/documents",
    tag,
    summary: "Adds a document, which a job reads and indexes",
    details:
      "JSON with title and text, or the file as it is with its content type: then `title` (required) and `external_id` stand in the query. A document with the same `external_id` takes the place of the one before.",
    params: base,
    query: DocumentQuery.partial(),
    body: { ...jsonBody(DocumentBody), ...Object.fromEntries(Object.keys(DOCUMENT_TYPES).map((type) => [type, file])) },
    answers: { 202: jsonAnswer(Document, "Taken; `status` in the list tells when it is indexed.") },
    errors: [...BODY_ERRORS, "not_found", "document_unreadable", "index_unavailable"],
  },
  {
    id: "getPassage",
    method: "get",
    path: "/api/v1/knowledge/:kb/passages/:passage",
    tag,
    summary: "A piece of a document, as a receipt names it",
    params: base,
    answers: { 200: jsonAnswer(Passage) },
    errors: ["not_found"],
  },
  {
    id: "deleteDocument",
    method: "delete",
    path: "/api/v1/knowledge/:kb/documents/:document",
    tag,
    summary: "Deletes a document",
    params: base,
    answers: { 200: jsonAnswer(DeletedDocuments) },
    errors: ["not_found"],
  },
];
