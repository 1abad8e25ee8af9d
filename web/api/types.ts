/** What the HTTP API sends, as far as the page reads it. Times are ISO 8601, durations milliseconds. */

export type Layer = "summary" | "core_memory" | "episodic" | "knowledge";
export type AgentType = "hybrid_agent" | "naive_rag_agent" | "chat_agent";

export interface Problem {
  field: string;
  problem: string;
}

export interface ErrorContent {
  code: string;
  message: string;
  retryable: boolean;
}

export interface RouteDecision {
  kb_prefix: string;
  worker_name: string;
  confidence: number;
  method: string;
  reason: string;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  estimated: boolean;
}

/** `started` says when each node began, counted from the turn's start. */
export interface Timings {
  total_ms: number;
  first_token_ms: number | null;
  nodes: Record<string, number>;
  started?: Record<string, number>;
}

export const PROMPT_LAYERS = ["system", "core_memory", "summary", "window", "episodes", "passages", "message"] as const;
export type PromptLayer = (typeof PROMPT_LAYERS)[number];

export interface Receipt {
  summary: { version: number; covered_message_count: number } | null;
  window_messages: number;
  core_memory: { section: string; version: number }[];
  episodes: { id: string; score: number; conversation_id: string; message_ids: string[] }[];
  passages: { id: string; document_id: string; title: string; score: number }[];
  prompt_tokens?: Record<PromptLayer, number>;
}

export interface TurnResult {
  answer: string;
  conversation_id: string;
  message_id: string;
  completed: boolean;
  usage: Usage;
  timings: Timings;
  receipt: Receipt;
  degraded: Layer[];
}

export interface Notice {
  code: string;
  message: string;
}

export type TurnEvent =
  | { status: "route_decision"; content: RouteDecision }
  | { status: "token"; content: string }
  | { status: "notice"; content: Notice }
  | { status: "execution_log"; content: unknown }
  | { status: "done"; content: TurnResult }
  | { status: "error"; content: ErrorContent };

/** A turn as it is stored: while it runs, most of it is null. */
export interface StoredTurn {
  id: string;
  state: "running" | "done" | "failed" | "interrupted";
  conversation_id: string | null;
  message_id: string | null;
  answer_message_id: string | null;
  route_decision: RouteDecision | null;
  receipt: Receipt | null;
  timings: Timings | null;
  usage: Usage | null;
  degraded: Layer[] | null;
  error: ErrorContent | null;
}

export interface ChatBody {
  user_id: string;
  session_id: string;
  message: string;
  kb_prefix: string | null;
  agent_type: AgentType;
  on_disconnect: "continue";
}

export interface Conversation {
  id: string;
  session_id: string;
  message_count: number;
  /** How the oldest message begins. */
  first_message: string | null;
  created_at: string;
  updated_at: string;
}

export interface Message {
  id: string;
  role: "user" | "assistant";
  content: string;
  completed: boolean;
  created_at: string;
  metadata: Record<string, unknown>;
}

export interface Section {
  section: string;
  content: string;
  version: number;
  updated_at: string;
  updated_by: string;
}

export interface SectionVersion {
  version: number;
  content: string | null;
  updated_by: string;
  created_at: string;
  trigger_message_id: string | null;
}

export interface Operation {
  id: string;
  operation: string;
  section: string | null;
  version: number | null;
  old_value: string | null;
  new_value: string | null;
  reason: string | null;
  actor: string;
  refused: string | null;
  trigger_message_id: string | null;
  conversation_id: string | null;
  created_at: string;
}

export interface Episode {
  id: string;
  score: number;
  conversation_id: string;
  user_message: string;
  assistant_message: string;
  episode_type: string;
  importance: number;
  created_at: string;
  message_ids: string[];
}

export interface Summary {
  text: string;
  version: number;
  covered_message_count: number;
  updated_at: string;
}

export interface EraseReceipt {
  erased: Record<string, number>;
  pending?: string[];
  left?: { messages: number };
}

export interface ConversationJob {
  id: string;
  kind: string;
  state: "waiting" | "retrying" | "running" | "dead";
  attempts: number;
  error: Pick<ErrorContent, "code" | "message"> | null;
  created_at: string;
}

/** A piece of a document; `heading` names the headings above it, empty when there are none. */
export interface Passage {
  id: string;
  document_id: string;
  title: string;
  heading: string;
  position: number;
  text: string;
}

export interface KnowledgeBase {
  kb_prefix: string;
  description: string;
}

export interface ServiceStatus {
  dependencies: Record<string, "up" | "down" | "read_only">;
  layers: Record<Layer, "on" | "off">;
  /** What core memory can hold. */
  core_memory_sections: string[];
  /** The embedder is null without an index. */
  models: { chat: string; embedder: string | null };
  /** Latest turns of the process that answers; times are null, and `code` says why, for those that failed. */
  turns: { at: string; total_ms: number | null; first_token_ms: number | null; degraded: Layer[]; code: string | null }[];
  /** Null when the database does not answer, or the caller may see one user only. */
  jobs: { kind: string; state: string; count: number }[] | null;
}

export interface Imported {
  conversation_id: string;
  imported: number;
  skipped: number;
}

export type ImportEvent =
  | { status: "progress"; content: { done: number; total: number } }
  | { status: "done"; content: Imported }
  | { status: "error"; content: ErrorContent };
