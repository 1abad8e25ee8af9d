import type { Request, Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { SECTION_CHARACTERS, SECTION_NAME } from "../../../memory/core/tool-schemas.ts";
import type { StoredSection } from "../../../stores/postgres/memory/write-sections.ts";
import { EpisodeType } from "../../../turn/state.ts";
import { tenantOf, userInPath } from "../../auth/caller.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Memory } from "../../parts/open-memory.ts";
import { pageQuery, parseRequest, storableText, toPageRequest, uuidField, wholeNumberField, callerId } from "../../http/parse-request.ts";
import { makeRouter, operationGroup, route, jsonAnswer, jsonBody, time, next } from "../../http/operation.ts";
import { cutPage } from "../../../stores/page.ts";

export const SectionBody = z.strictObject({
  content: storableText
    .refine((text) => text.trim() !== "", "is blank; DELETE removes a section")
    .refine((text) => [...text].length <= SECTION_CHARACTERS, `has more than ${SECTION_CHARACTERS} characters; shorten it`)
    .meta({ minLength: 1, maxLength: SECTION_CHARACTERS }),
});
const RevertBody = z.strictObject({
  version: z.int("must be a whole number").min(1, "must be 1 or more").max(999_999_999, "is higher than any version"),
});
const OperationsQuery = z.object({ ...pageQuery, trigger_message_id: uuidField.optional() });

const HistoryQuery = z.object({
  limit: wholeNumberField(1, 200).default(50),
  after: wholeNumberField(1, 999_999_999).optional(),
});

const actor = z.enum(["agent", "person", "import"]);
const SectionAnswer = z.object({ section: z.string(), content: z.string(), version: z.int() });
const MemoryLine = z.object({
  content: z.string(),
  trigger_message_ids: z.array(z.uuid()).describe("Messages of the user that it rests on: erasing one takes it. None: a person or MCP."),
});
const CoreMemory = z.object({
  sections: z.array(SectionAnswer.extend({ updated_at: time, updated_by: actor, lines: z.array(MemoryLine) })),
});
const RemovedSection = z.object({
  section: z.string(),
  content: z.null(),
  version: z.int().describe("The version that says that it is gone."),
});
const SectionHistory = z.object({
  versions: z.array(
    z.object({
      version: z.int(),
      content: z.string().nullable().describe("Null where the section was removed."),
      updated_by: actor,
      created_at: time,
      conversation_id: z.uuid().nullable(),
      trigger_message_id: z.uuid().nullable().describe("The message that gave rise to it."),
    }),
  ),
  next,
});

const OperationList = z.object({
  operations: z.array(
    z.object({
      id: z.uuid(),
      operation: z.string().describe("core_update, archival_insert, _update, _delete, _search; unknown_tool for what there is not."),
      section: z.string().nullable(),
      version: z.int().nullable(),
      old_value: z.string().nullable(),
      new_value: z.string().nullable(),
      reason: z.string().nullable(),
      actor,
      refused: z.string().nullable().describe("Why it was not done; null: it was."),
      episode_type: EpisodeType.nullable().describe("Of an archived memory, or the one that was searched for."),
      importance: z.number().nullable().describe("Of an archived memory."),
      results_count: z.int().nullable().describe("What a search found."),
      top_result: z.object({ id: z.uuid(), score: z.number() }).nullable().describe("The best that a search found."),
      trigger_message_id: z.uuid().nullable().describe("The last of the messages that gave rise to it."),
      trigger_message_ids: z.array(z.uuid()).describe("All messages that gave rise to it: several when turns were read together."),
      conversation_id: z.uuid().nullable(),
      kb_prefix: z
        .string()
        .nullable()
        .describe("The knowledge base of the turn that gave rise to it, `general` for none; null: no turn did."),
      created_at: time,
    }),
  ),
  next,
});

const anySection = z.string().regex(SECTION_NAME);
/** A section that the configuration lets people write. */
export const configuredSection = anySection.describe("CORE_MEMORY_SECTIONS adds more.");
const path = { id: callerId, section: anySection };
const pathToWrite = { id: callerId, section: configuredSection };
const written = { 200: jsonAnswer(SectionAnswer, "The section as it is now.", ["ETag"]) };

export const coreMemoryOperations = operationGroup({
  tag: "memory",
  schemas: { SectionBody, RevertBody, SectionAnswer, CoreMemory, RemovedSection, SectionHistory, OperationList },
  routes: {
    getCoreMemory: route("GET /api/v1/users/:id/core-memory", "What is known about a user, by section", {
      params: { id: callerId },
      answer: CoreMemory,
      errors: ["not_found"],
    }),
    writeSection: route("PUT /api/v1/users/:id/core-memory/:section", "Writes a section anew, as its next version", {
      params: pathToWrite,
      headers: ["If-Match", "If-None-Match"],
      body: jsonBody(SectionBody),
      answers: written,
      errors: ["not_found", "stale_version"],
    }),
    removeSection: route("DELETE /api/v1/users/:id/core-memory/:section", "Removes a section; its history stays", {
      params: path,
      headers: ["If-Match"],
      answer: RemovedSection,
      errors: ["not_found", "stale_version"],
    }),
    getSectionHistory: route("GET /api/v1/users/:id/core-memory/:section/history", "The versions of a section, newest first", {
      params: path,
      query: HistoryQuery,
      answer: SectionHistory,
      errors: ["not_found"],
    }),
    revertSection: route("POST /api/v1/users/:id/core-memory/:section/revert", "Writes the content of an earlier version as a new one", {
      params: pathToWrite,
      headers: ["If-Match"],
      body: jsonBody(RevertBody),
      answers: written,
      errors: ["not_found", "stale_version"],
    }),
    listMemoryOperations: route("GET /api/v1/users/:id/memory-operations", "What was done to a user's memory and why, newest first", {
      params: { id: callerId },
      query: OperationsQuery,
      answer: OperationList,
      errors: ["not_found"],
    }),
  },
});

/** The version of If-Match; 0 (no section yet) for `If-None-Match: *`; undefined without either. */
function expectedVersionOf(request: Request): number | undefined {
  if (request.get("if-none-match") === "*") return 0;
  const header = request.get("if-match");
  if (header === undefined) return undefined;
  const [, version] = /^\s*(?:W\/)?"?(\d{1,9})"?\s*$/.exec(header) ?? [];
  if (version !== undefined) return Number(version);
  const problem = `"${header.slice(0, 80)}" is not a version; send the version in quotes, like "3"`;
  throw AppError.invalid([{ field: "If-Match", problem }]);
}

function sendSection(response: Response<z.output<typeof SectionAnswer>>, { section, content, version }: StoredSection): void {
  response.set("etag", `"${version}"`).json({ section, content, version });
}

/** A user's core memory, its history and the log of its changes. */
export function coreMemoryRoutes({ stores, memory }: { stores: Pick<Stores, "coreMemory" | "operations">; memory: Memory }): Router {
  const [{ coreMemory }, { sections }] = [stores, memory];
  const ownerOf = (request: Request, response: Response) => ({ tenantId: tenantOf(response), userId: userInPath(request, response) });
  const orderOf = (section: string): number => (sections.includes(section) ? sections.indexOf(section) : sections.length);

  /** Also a section that is no longer configured: it can still be removed. */
  function nameOf(request: Request): string {
    const section = String(request.params["section"]);
    return SECTION_NAME.test(section) ? section : sectionOf(request);
  }

  function sectionOf(request: Request): string {
    const section = String(request.params["section"]);
    if (sections.includes(section)) return section;
    const problem = `"${section.slice(0, 80)}" is not one of ${sections.join(", ")}; CORE_MEMORY_SECTIONS adds more`;
    throw AppError.invalid([{ field: "section", problem }]);
  }

  return makeRouter(coreMemoryOperations, {
    async getCoreMemory(request, response) {
      const stored = await coreMemory.loadLines(ownerOf(request, response));
      const inOrder = stored.toSorted((one, other) => orderOf(one.section) - orderOf(other.section));
      response.json({
        sections: inOrder.map(({ section, content, version, updatedAt, updatedBy, lines }) => {
          const shown = lines.map((line) => ({ content: line.content, trigger_message_ids: line.triggerMessageIds }));
          return { section, content, version, updated_at: updatedAt, updated_by: updatedBy, lines: shown };
        }),
      });
    },
    async writeSection(request, response) {
      const owner = ownerOf(request, response);
      const section = sectionOf(request);
      const expectedVersion = expectedVersionOf(request);
      const { content } = parseRequest(SectionBody, request.body);
      sendSection(response, await coreMemory.put(owner, { section, content, expectedVersion }));
    },
    async removeSection(request, response) {
      const section = nameOf(request);
      const removed = await coreMemory.remove(ownerOf(request, response), { section, expectedVersion: expectedVersionOf(request) });
      if (!removed) throw new AppError("not_found", `This user has no section "${section}".`);
      response.json({ section, content: null, version: removed.version });
    },
    async getSectionHistory(request, response) {
      const { limit, after } = parseRequest(HistoryQuery, request.query);
      const section = nameOf(request);
      const versions = await coreMemory.history(ownerOf(request, response), section, { limit: limit + 1, before: after ?? null });
      const { items, next } = cutPage(versions, limit, ({ version }) => String(version));
      response.json({
        versions: items.map(({ version, content, updatedBy, createdAt, conversationId, triggerMessageId }) => ({
          version,
          content,
          updated_by: updatedBy,
          created_at: createdAt,
          conversation_id: conversationId,
          trigger_message_id: triggerMessageId,
        })),
        next,
      });
    },
    async revertSection(request, response) {
      const owner = ownerOf(request, response);
      const section = sectionOf(request);
      const { version } = parseRequest(RevertBody, request.body);
      const reverted = await coreMemory.revert(owner, { section, version, expectedVersion: expectedVersionOf(request) });
      if (!reverted) throw new AppError("not_found", `The section "${section}" of this user has no version ${version}.`);
      sendSection(response, reverted);
    },
    async listMemoryOperations(request, response) {
      const { trigger_message_id: trigger, ...page } = parseRequest(OperationsQuery, request.query);
      const { items, next } = await stores.operations.list(ownerOf(request, response), toPageRequest(page), trigger ?? null);
      response.json({
        operations: items.map((operation) => ({
          id: operation.id,
          operation: operation.operation,
          section: operation.section,
          version: operation.version,
          old_value: operation.oldValue,
          new_value: operation.newValue,
          reason: operation.reason,
          actor: operation.actor,
          refused: operation.refused,
          episode_type: operation.episodeType as EpisodeType | null,
          importance: operation.importance,
          results_count: operation.resultsCount,
          top_result: operation.topResult,
          trigger_message_id: operation.triggerMessageIds.at(-1) ?? null,
          trigger_message_ids: operation.triggerMessageIds,
          conversation_id: operation.conversationId,
          kb_prefix: operation.kbPrefix,
          created_at: operation.createdAt,
        })),
        next,
      });
    },
  });
}
