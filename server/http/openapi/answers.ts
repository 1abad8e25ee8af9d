import { z } from "zod";
import { ERROR_CODES, type ErrorCode } from "../../../errors/error-codes.ts";
import { Layer } from "../../../turn/state.ts";
import { JOB_KINDS } from "../../../stores/jobs/job.ts";
import { DEPENDENCY_STATES } from "../../observe/health-routes.ts";

const time = z.iso.datetime();
const next = z.string().nullable().describe("Send it as `after` to get the page behind this one; null on the last.");
const actor = z.enum(["agent", "person", "import"]);

export const ErrorAnswer = z.object({
  error: z.object({
    code: z.enum(Object.keys(ERROR_CODES) as ErrorCode[]),
    message: z.string().describe("What failed, with which value, and what to do."),
    details: z
      .array(z.object({ field: z.string(), problem: z.string(), index: z.int().optional().describe("Of a wrong message of an import.") }))
      .optional()
      .describe("Every field that is wrong, when fields are."),
  }),
});

export const ConversationList = z.object({
  conversations: z.array(
    z.object({
      id: z.uuid(),
      session_id: z.string(),
      message_count: z.int(),
      first_message: z.string().nullable(),
      created_at: time,
      updated_at: time,
    }),
  ),
  next,
});

const Message = z.object({
  id: z.uuid(),
  role: z.enum(["user", "assistant"]),
  content: z.string(),
  completed: z.boolean(),
  created_at: time,
  metadata: z.record(z.string(), z.unknown()),
});

export const MessageList = z.object({ messages: z.array(Message), next });

export const FoundMessage = z.object({ message: Message, conversation_id: z.uuid(), user_id: z.string() });

export const SummaryAnswer = z.object({
  summary: z
    .object({
      text: z.string(),
      version: z.int(),
      covered_message_count: z.int(),
      covered_through: z.object({ created_at: time, message_id: z.uuid() }).describe("The last message that it stands for."),
      updated_at: time,
    })
    .nullable(),
});

export const SettleAnswer = z.object({ settled: z.boolean(), pending: z.int().describe("Jobs that wait or run.") });

export const EpisodeList = z.object({
  episodes: z.array(
    z.object({
      id: z.uuid(),
      score: z.number().describe("Comparable within one search only."),
      conversation_id: z.uuid(),
      user_message: z.string().describe("Empty of an imported answer to nothing."),
      assistant_message: z.string().describe("Empty of an imported message without an answer, and of an archived memory."),
      episode_type: z.enum(["preference", "decision", "context", "outcome"]),
      importance: z.number(),
      created_at: time,
      message_ids: z.array(z.uuid()),
      metadata: z.object({ external_ids: z.array(z.string()).optional() }),
    }),
  ),
  degraded: z.array(Layer),
});

export const SectionAnswer = z.object({ section: z.string(), content: z.string(), version: z.int() });

const MemoryLine = z.object({
  content: z.string(),
  trigger_message_ids: z.array(z.uuid()).describe("The user's messages it rests on: erasing one takes it. None: a person wrote it."),
});

export const CoreMemory = z.object({
  sections: z.array(SectionAnswer.extend({ updated_at: time, updated_by: actor, lines: z.array(MemoryLine) })),
});

export const RemovedSection = z.object({
  section: z.string(),
  content: z.null(),
  version: z.int().describe("The version that says that it is gone."),
});

export const SectionHistory = z.object({
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

export const OperationList = z.object({
  operations: z.array(
    z.object({
      id: z.uuid(),
      operation: z.string().describe("core_update, archival_insert or archival_search; unknown_tool for anything else that was tried."),
      section: z.string().nullable(),
      version: z.int().nullable(),
      old_value: z.string().nullable(),
      new_value: z.string().nullable(),
      reason: z.string().nullable(),
      actor,
      refused: z.string().nullable().describe("Why it was not done; null: it was."),
      trigger_message_id: z.uuid().nullable().describe("The last of the messages that gave rise to it."),
      trigger_message_ids: z.array(z.uuid()).describe("All messages that gave rise to it: several when turns were read together."),
      conversation_id: z.uuid().nullable(),
      created_at: time,
    }),
  ),
  next,
});

export const KnowledgeBase = z.object({
  kb_prefix: z.string(),
  description: z.string(),
  keywords: z.array(z.string()),
  worker: z.string().optional(),
});

export const KnowledgeList = z.object({ knowledge: z.array(KnowledgeBase) });

export const Document = z.object({
  id: z.uuid(),
  title: z.string(),
  status: z.enum(["pending", "indexed", "failed"]),
  chunk_count: z.int(),
  error: z.string().nullable(),
  external_id: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
  created_at: time,
});

export const DocumentList = z.object({ documents: z.array(Document), next });

export const Passage = z.object({
  id: z.uuid(),
  document_id: z.uuid(),
  title: z.string(),
  heading: z.string().describe("The headings above it; empty when there are none."),
  position: z.int().describe("0 for the first of its document."),
  text: z.string(),
});

export const DeletedDocuments = z.object({ deleted: z.object({ documents: z.int() }) });

const jobKind = z.enum(JOB_KINDS);
const jobState = z.enum(["waiting", "retrying", "running", "dead"]);
const jobError = z.object({ code: z.string(), message: z.string() });
const jobCounts = z.array(z.object({ kind: jobKind, state: jobState, count: z.int() }));

export const ConversationJobs = z.object({
  jobs: z.array(
    z.object({
      id: z.uuid(),
      kind: jobKind,
      state: jobState,
      attempts: z.int().describe("Runs it had, the present one not counted."),
      error: jobError.nullable().describe("Of its last run."),
      created_at: time,
    }),
  ),
});

export const JobsAnswer = z.object({
  jobs: jobCounts,
  dead: z
    .array(
      z.object({
        id: z.uuid(),
        kind: jobKind,
        tenant: z.string().optional().describe("For whoever sees those of all tenants."),
        user_id: z.string().optional(),
        conversation_id: z.uuid().optional(),
        error: jobError,
        attempts: z.int(),
        created_at: time,
        died_at: time,
      }),
    )
    .describe("The newest of those that failed for good."),
});

export const RetriedJobs = z.object({ retried: z.int() });

export const Health = z.object({ status: z.literal("alive") });

/** Whatever OpenAPI 3.1 allows. */
export const ApiDescription = z.looseObject({ openapi: z.string() });

export const Readiness = z.object({
  status: z.enum(["ready", "not ready", "stopping"]),
  dependencies: z.record(z.string(), z.enum(DEPENDENCY_STATES)),
});

export const Status = z.object({
  dependencies: z.record(z.string(), z.enum(DEPENDENCY_STATES)),
  layers: z.record(Layer, z.enum(["on", "off"])),
  core_memory_sections: z.array(z.string()).describe("What core memory can hold."),
  models: z.object({ chat: z.string(), embedder: z.string().nullable() }),
  turns: z
    .array(
      z.object({
        at: time,
        total_ms: z.number().nullable(),
        first_token_ms: z.number().nullable(),
        degraded: z.array(Layer),
        code: z.string().nullable().describe("Why it failed."),
      }),
    )
    .describe("The last turns of this process, oldest first."),
  jobs: jobCounts.nullable().describe("Null when the database does not answer, or the caller is one user."),
});
