import type { Request, Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import type { KnowledgeBaseStore } from "../../../stores/postgres/knowledge/knowledge-base-store.ts";
import type { KnowledgeBase as StoredBase } from "../../../stores/knowledge-catalog.ts";
import { RetrievalMode, GENERAL } from "../../../turn/state.ts";
import type { Stores } from "../../parts/open-stores.ts";
import { readJson, requireJson } from "../../http/read-body.ts";
import { requireWholeTenant, tenantOf } from "../../auth/caller.ts";
import { instructionsText, parseRequest, storableText, AfterQuery } from "../../http/parse-request.ts";
import { makeRouter, operationGroup, route, jsonBody, jsonAnswer, next } from "../../http/operation.ts";
import { pageByName } from "../../../stores/page.ts";

export const PREFIX = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const MAX_DESCRIPTION_CHARACTERS = 2_000;

export const shortText = (limit: number) =>
  storableText
    .transform((text) => text.trim())
    .refine((text) => text !== "", "is blank")
    .refine((text) => text.length <= limit, `has more than ${limit} characters`)
    .meta({ minLength: 1, maxLength: limit });

const KnowledgeBody = z.strictObject({
  description: shortText(MAX_DESCRIPTION_CHARACTERS)
    .default("")
    .describe("What its documents are about. Without it, their titles and headings tell."),
  keywords: z.array(shortText(100), "must be an array of words").max(200, "has more than 200 words").default([]),
  worker: z
    .enum(RetrievalMode.options, `must be one of ${RetrievalMode.options.join(", ")}`)
    .optional()
    .describe("How its turns search its documents, unless a turn says `agent_type` itself. Without it `hybrid_agent`."),
  instructions: instructionsText.optional().describe("What the model is told in its turns, behind the service's own instructions."),
});

function prefixOf(request: Request): string {
  const prefix = String(request.params["kb"]);
  if (PREFIX.test(prefix) && prefix !== GENERAL) return prefix;
  const form = `1 to 64 small letters, digits, dashes and underscores, and not "${GENERAL}", which means none`;
  throw AppError.invalid([{ field: "kb", problem: `"${prefix.slice(0, 80)}" cannot be the name of a knowledge base: ${form}` }]);
}

const KnowledgeBase = z.object({
  kb_prefix: z.string(),
  description: z.string(),
  keywords: z.array(z.string()),
  worker: RetrievalMode.optional(),
  instructions: z.string().optional(),
});
const KnowledgeList = z.object({ knowledge: z.array(KnowledgeBase), next });

export const DeletedDocuments = z.object({ deleted: z.object({ documents: z.int() }) });

export const params = { kb: z.string().regex(PREFIX).describe("The name of a knowledge base; `general` means none.") };

export const knowledgeOperations = operationGroup({
  tag: "knowledge",
  schemas: { KnowledgeBody, KnowledgeBase, KnowledgeList, DeletedDocuments },
  routes: {
    listKnowledgeBases: route("GET /api/v1/knowledge", "All knowledge bases, by name", { query: AfterQuery, answer: KnowledgeList }),
    getKnowledgeBase: route("GET /api/v1/knowledge/:kb", "One knowledge base", { params, answer: KnowledgeBase, errors: ["not_found"] }),
    putKnowledgeBase: route("PUT /api/v1/knowledge/:kb", "Makes a knowledge base, or changes it", {
      params,
      body: jsonBody(KnowledgeBody),
      answers: { 200: jsonAnswer(KnowledgeBase, "Changed."), 201: jsonAnswer(KnowledgeBase, "Made.") },
    }),
    deleteKnowledgeBase: route("DELETE /api/v1/knowledge/:kb", "Deletes a knowledge base with its documents", {
      params,
      answer: DeletedDocuments,
      errors: ["not_found"],
    }),
  },
});

const noSuchBase = (prefix: string): AppError => new AppError("not_found", `There is no knowledge base "${prefix}".`);

/** The knowledge base in a request's path, in the caller's tenant. Throws AppError `invalid_request`. */
export const placeOf = (request: Request, response: Response) => ({ tenantId: tenantOf(response), prefix: prefixOf(request) });

/** Throws AppError `not_found`. */
export async function loadBase(bases: KnowledgeBaseStore, { tenantId, prefix }: ReturnType<typeof placeOf>): Promise<StoredBase> {
  const base = await bases.find(tenantId, prefix);
  if (!base) throw noSuchBase(prefix);
  return base;
}

const toBase = ({ prefix, description, titles = [], keywords, worker, instructions }: StoredBase) => {
  const about = description || titles.join("; ").slice(0, MAX_DESCRIPTION_CHARACTERS).toWellFormed();
  const optional = { ...(worker === undefined ? {} : { worker }), ...(instructions === undefined ? {} : { instructions }) };
  return { kb_prefix: prefix, description: about, keywords, ...optional };
};

const MAX_BASE_BYTES = 400 * 1024;

export function knowledgeRoutes({ stores: { knowledgeBases } }: { stores: Pick<Stores, "knowledgeBases"> }): Router {
  return makeRouter(knowledgeOperations, {
    async listKnowledgeBases(request, response) {
      const { after } = parseRequest(AfterQuery, request.query);
      const all = (await knowledgeBases.list(tenantOf(response))).map(toBase);
      const { items, next } = pageByName(all, ({ kb_prefix: prefix }) => prefix, after);
      response.json({ knowledge: items, next });
    },
    async getKnowledgeBase(request, response) {
      response.json(toBase(await loadBase(knowledgeBases, placeOf(request, response))));
    },
    putKnowledgeBase: [
      requireWholeTenant,
      requireJson,
      readJson(MAX_BASE_BYTES),
      async (request, response) => {
        const { tenantId, prefix } = placeOf(request, response);
        const { description, keywords, worker, instructions } = parseRequest(KnowledgeBody, request.body);
        const optional = { ...(worker === undefined ? {} : { worker }), ...(instructions === undefined ? {} : { instructions }) };
        const base = { prefix, description, keywords, ...optional };
        const isNew = await knowledgeBases.put(tenantId, base);
        response.status(isNew ? 201 : 200).json(toBase(base));
      },
    ],
    deleteKnowledgeBase: [
      requireWholeTenant,
      async (request, response) => {
        const { tenantId, prefix } = placeOf(request, response);
        const removed = await knowledgeBases.remove(tenantId, prefix);
        if (removed === null) throw noSuchBase(prefix);
        response.json({ deleted: { documents: removed } });
      },
    ],
  });
}
