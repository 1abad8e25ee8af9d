import { z } from "zod";
import { SECTION_NAME } from "../../../memory/agent/core-sections.ts";
import { HistoryQuery, RevertBody, SectionBody } from "../../memory/core-memory-routes.ts";
import { EpisodesQuery } from "../../memory/episode-routes.ts";
import { callerId } from "../parse-request.ts";
import { OperationsQuery } from "../../memory/erase-routes.ts";
import { CoreMemory, EpisodeList, OperationList, RemovedSection, SectionAnswer, SectionHistory } from "./answers.ts";
import { ERASED, ErasureAnswer } from "./erase-answers.ts";
import { BODY_ERRORS, file, jsonAnswer, jsonBody, type Operation } from "./operation.ts";

const tag = "memory";
const user = { id: callerId };
const section = z.string().regex(SECTION_NAME);
/** One that can be written; which these are is configured. */
export const configuredSection = section.describe("CORE_MEMORY_SECTIONS adds more.");

export const MEMORY_OPERATIONS: readonly Operation[] = [
  {
    id: "findEpisodes",
    method: "get",
    path: "/api/v1/users/:id/episodes",
    tag,
    summary: "A user's earlier exchanges, ranked exactly as a turn would recall them",
    params: user,
    query: EpisodesQuery,
    answers: { 200: jsonAnswer(EpisodeList) },
    errors: ["not_found", "index_unavailable", "embedder_unavailable"],
  },
  {
    id: "forgetEpisode",
    method: "delete",
    path: "/api/v1/users/:id/episodes/:episode",
    tag,
    summary: "Forgets one exchange with all that came of it",
    params: user,
    answers: ERASED,
    errors: ["not_found", "conversation_busy"],
  },
  {
    id: "getCoreMemory",
    method: "get",
    path: "/api/v1/users/:id/core-memory",
    tag,
    summary: "What is known about a user, by section",
    params: user,
    answers: { 200: jsonAnswer(CoreMemory) },
    errors: ["not_found"],
  },
  {
    id: "writeSection",
    method: "put",
    path: "/api/v1/users/:id/core-memory/:section",
    tag,
    summary: "Writes a section anew, as its next version",
    params: { ...user, section: configuredSection },
    headers: ["If-Match", "If-None-Match"],
    body: jsonBody(SectionBody),
    answers: { 200: jsonAnswer(SectionAnswer, "The section as it is now.", ["ETag"]) },
    errors: [...BODY_ERRORS, "not_found", "stale_version"],
  },
  {
    id: "removeSection",
    method: "delete",
    path: "/api/v1/users/:id/core-memory/:section",
    tag,
    summary: "Removes a section; its history stays",
    params: { ...user, section },
    headers: ["If-Match"],
    answers: { 200: jsonAnswer(RemovedSection) },
    errors: ["not_found", "stale_version"],
  },
  {
    id: "getSectionHistory",
    method: "get",
    path: "/api/v1/users/:id/core-memory/:section/history",
    tag,
    summary: "The versions of a section, newest first",
    params: { ...user, section },
    query: HistoryQuery,
    answers: { 200: jsonAnswer(SectionHistory) },
    errors: ["not_found"],
  },
  {
    id: "revertSection",
    method: "post",
    path: "/api/v1/users/:id/core-memory/:section/revert",
    tag,
    summary: "Writes the content of an earlier version as a new one",
    params: { ...user, section: configuredSection },
    headers: ["If-Match"],
    body: jsonBody(RevertBody),
    answers: { 200: jsonAnswer(SectionAnswer, "The section as it is now.", ["ETag"]) },
    errors: [...BODY_ERRORS, "not_found", "stale_version"],
  },
  {
    id: "listMemoryOperations",
    method: "get",
    path: "/api/v1/users/:id/memory-operations",
    tag,
    summary: "What was done to a user's memory and why, newest first",
    params: user,
    query: OperationsQuery,
    answers: { 200: jsonAnswer(OperationList) },
    errors: ["not_found"],
  },
  {
    id: "exportUser",
    method: "get",
    path: "/api/v1/users/:id/export",
    tag,
    summary: "Everything that is stored of a user, at one moment, as a file",
    details:
      "A JSON object on each line: a `header`, then `{kind, row}` for each conversation, message, summary, section of core memory with its versions and" +
      " whatever else is stored, then the `end` with how many there are and the SHA-256 of all lines before. `npm run restore` brings it back.",
    params: user,
    answers: { 200: { what: "Lines of JSON.", content: { "application/x-ndjson": file } } },
    errors: ["not_found"],
  },
  {
    id: "eraseUser",
    method: "delete",
    path: "/api/v1/users/:id",
    tag,
    summary: "Erases a user: everything of it, in every store",
    params: user,
    answers: ERASED,
    errors: ["not_found"],
  },
  {
    id: "getErasure",
    method: "get",
    path: "/api/v1/erasures/:id",
    tag,
    summary: "How far a large erase has got, of a user or of a conversation; 30 days after its end, too",
    answers: { 200: jsonAnswer(ErasureAnswer) },
    errors: ["not_found"],
  },
];
