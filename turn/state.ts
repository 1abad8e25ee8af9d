import { MessagesValue, ReducedValue, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { Agent } from "./agent.ts";
import { ERROR_CODES, type ErrorCode } from "../errors/error-codes.ts";
import { CallerCall, CallerTools, CallResults } from "./caller-tools.ts";
import { ModelOptions } from "./model-options.ts";
import { Picture } from "./picture.ts";
import { Question } from "./question.ts";
import { Receipt } from "./receipt.ts";
import { SummaryParts } from "./summary-parts.ts";
import { Cost, TurnUsage } from "./usage.ts";

export { GivenInstructions, PromptTokens, Receipt } from "./receipt.ts";

/** How the knowledge base of a turn was chosen; `general` has no documents. */
export const RouteDecision = z.object({
  kb_prefix: z.string(),
  worker_name: z.string(),
  /** 0 to 1. */
  confidence: z.number(),
  method: z.enum(["requested", "rule", "embedding", "llm", "default"]),
  reason: z.string(),
});
export type RouteDecision = z.infer<typeof RouteDecision>;

/** The kb_prefix of turns without documents. */
export const GENERAL = "general";

/** Whether the turn only tries the one base there is: without a fitting passage it has no documents. */
export function looksOnly({ routeDecision: decision }: { routeDecision?: RouteDecision }): boolean {
  return decision?.method === "default" && decision.kb_prefix !== GENERAL;
}

/** hybrid_agent searches documents by meaning and words, naive_rag_agent by meaning, chat_agent not at all. */
export const RetrievalMode = z.enum(["hybrid_agent", "naive_rag_agent", "chat_agent"]);
export type RetrievalMode = z.infer<typeof RetrievalMode>;
/** The type when neither the caller nor the knowledge base names one. */
export const DEFAULT_RETRIEVAL = "hybrid_agent" satisfies RetrievalMode;

/** `createdAt` is ISO 8601. Content has a mark for each picture; `pictures` are those that the model sees again. */
export const WindowMessage = z.object({
  id: z.string(),
  role: z.enum(["user", "assistant"]),
  content: z.string(),
  tokenCount: z.number(),
  createdAt: z.string(),
  pictures: z.array(Picture).optional(),
});
export type WindowMessage = z.infer<typeof WindowMessage>;

/** Times are ISO 8601. */
export const ConversationSummary = z.object({
  text: z.string(),
  version: z.number(),
  coveredMessageCount: z.number(),
  coveredThrough: z.object({ createdAt: z.string(), messageId: z.string() }),
  parts: SummaryParts.nullable().optional(),
});
export type ConversationSummary = z.infer<typeof ConversationSummary>;

/** The section of core memory with the user's wishes. In a prompt it stands apart from facts. */
export const WISHES = "instructions";

/** The kind of an episode, by the user's words or the memory agent's choice. */
export const EpisodeType = z.enum(["preference", "decision", "context", "outcome"]);
export type EpisodeType = z.infer<typeof EpisodeType>;

export const CoreSection = z.object({ section: z.string(), content: z.string(), version: z.number() });
export type CoreSection = z.infer<typeof CoreSection>;

/** Scores compare within one search. `createdAt` is ISO 8601. */
export const RecalledExchange = z.object({
  id: z.string(),
  score: z.number(),
  /** Cosine of question and exchange; null when words or a neighbour brought it. */
  similarity: z.number().nullable(),
  conversationId: z.string(),
  userMessage: z.string(),
  assistantMessage: z.string(),
  messageIds: z.array(z.string()),
  createdAt: z.string(),
});
export type RecalledExchange = z.infer<typeof RecalledExchange>;

/** Scores compare within one search. */
export const Passage = z.object({
  id: z.string(),
  documentId: z.string(),
  title: z.string(),
  heading: z.string(),
  text: z.string(),
  score: z.number(),
});
export type Passage = z.infer<typeof Passage>;

/** Text that a front end sent beside a message, such as a file's. It serves one turn and becomes no memory. */
export const Attachment = z.object({ name: z.string(), text: z.string() });
export type Attachment = z.infer<typeof Attachment>;

/** A passage that the answer cites, by its number in the prompt. */
export const Citation = z.object({
  number: z.number(),
  passage_id: z.string(),
  document_id: z.string(),
  title: z.string(),
  heading: z.string(),
});
export type Citation = z.infer<typeof Citation>;

export const ContinuedAnswer = z.object({
  answerId: z.string(),
  text: z.string(),
  completed: z.boolean(),
  citations: z.array(Citation).default(() => []),
});
export type ContinuedAnswer = z.infer<typeof ContinuedAnswer>;

export const Cut = z
  .literal("length")
  .nullable()
  .describe("`length`: MAX_ANSWER_TOKENS or the model's context ended the answer before the model did.");
export type Cut = z.infer<typeof Cut>;

export const TurnError = z.object({
  code: z.enum(Object.keys(ERROR_CODES) as ErrorCode[]),
  message: z.string(),
  retryable: z.boolean().describe("The same request may succeed when it is sent again."),
  retry_after_seconds: z.int().optional().describe("Seconds until it may, counted from the error. Missing when nobody knows them."),
});

export const Layer = z.enum(["summary", "core_memory", "episodic", "knowledge"]);
export type Layer = z.infer<typeof Layer>;

/** Only in debug. Never message text. */
export const ExecutionLog = z.looseObject({ node: z.string(), ms: z.number() });
export type ExecutionLog = z.infer<typeof ExecutionLog>;

/** A step of an agent's loop: the first or a later call of its model, or a call of a tool. */
export const StepKind = z.enum(["first_model", "next_model", "tool"]);
export type StepKind = z.infer<typeof StepKind>;

/** The state of one turn. Each field names the node that writes it. */
export const ConversationState = new StateSchema({
  tenantId: z.string().default("default"), // caller
  userId: z.string(), // caller
  sessionId: z.string(), // caller
  message: z.string(), // caller; history: the question of a continued answer
  pictures: z.array(Picture).default(() => []), // caller; history: those of a stored message
  attachments: z.array(Attachment).default(() => []), // caller: text beside the message, for this prompt alone
  instructions: z.string().default(""), // caller: the application's, for this prompt alone
  callerTools: CallerTools.nullable().default(null), // caller: tools that it runs itself
  modelOptions: ModelOptions.nullable().default(null), // caller: how the model is called
  continues: z.string().nullable().default(null), // caller: the last answer, to go on with it
  callResults: CallResults.nullable().default(null), // caller: results for the calls that ended the turn of `continues`; the answer takes its place
  editOf: z.string().nullable().default(null), // caller: the user's question that the message replaces, on a new branch
  regenerate: z.string().nullable().default(null), // caller: an answer to give again, on a new branch; the message is its question
  behind: z.string().nullable().default(null), // caller: the message after which the turn leaves the path, on a new branch
  again: z.string().nullable().default(null), // caller: a question to answer again, on a new branch
  remember: z.boolean().default(true), // caller: false for a turn that leaves no memory
  store: z.boolean().default(true), // caller: false for a turn whose messages are deleted at its end
  asked: z.record(z.string(), z.unknown()).nullable().default(null), // caller: facts of its request, kept with the outcome
  chosen: z.record(z.string(), z.string()).nullable().default(null), // caller: the agent, model and the like that it named, kept with both messages
  debug: z.boolean().default(false), // caller
  interactive: z.boolean().default(false), // caller: somebody can be asked, and the turn may wait for the answer
  execution: z.enum(["normal", "stepping"]).default("normal"), // caller: stepping stops before every step
  stopsBefore: z.array(StepKind).nullable().default(null), // caller: where stepping stops; null: before all
  agentType: RetrievalMode.nullable().default(null), // caller: null leaves it to the knowledge base; route: the one used
  requestedKbPrefix: z.string().nullable().default(null), // caller
  requestedAgent: z.string().nullable().default(null), // caller
  requestedModel: z.string().nullable().default(null), // caller
  turnId: z.string(), // history: it holds the conversation's lease
  conversationId: z.string(), // history
  currentMessageId: z.string(), // history
  continued: ContinuedAnswer.nullable().default(null), // history: null for a message that is answered anew
  recentMessages: z.array(WindowMessage).default(() => []), // history: the window, oldest first, without the current message
  windowIsWhole: z.boolean().default(true), // history: false when older messages are neither here nor in the summary
  conversationSummary: ConversationSummary.nullable().default(null), // history
  hasEpisodes: z.boolean().default(false), // history: this user has episodes outside the window
  lastErasure: z.string().nullable().default(null), // history: the user's last erase when the turn began
  lastUsageRatio: z.number().default(0), // history: how full the last prompt was
  coreMemory: z.array(CoreSection).default(() => []), // core_memory
  coreMemoryErasure: z.string().nullable().default(null), // core_memory: the user's last erase at that time
  episodicMemory: z.array(RecalledExchange).default(() => []), // retrieve: best first, then their neighbours
  retrievalResults: z.array(Passage).default(() => []), // retrieve: passages of documents, best first
  retrievalMs: z.number(), // retrieve
  routeDecision: RouteDecision, // route
  kbPrefix: z.string(), // route
  workerName: z.string(), // route
  agent: Agent.nullable().default(null), // route: null for the assistant; generate_agent: the one that was handed the turn
  agentPath: z.array(z.string()).default(() => []), // route: its lead and itself, where a lead's strategy chose it
  namesAgent: z.boolean().default(false), // route: the caller named an agent, which ends a handoff
  handedTo: z.string().nullable().default(null), // generate_agent: the agent that was handed the turn, and the next ones
  useRetrieval: z.boolean().default(false), // route
  kbInstructions: z.string().default(""), // route: the knowledge base's
  routingMs: z.number(), // route
  messages: MessagesValue, // caller, generate: the thread in Studio; the prompt has the window instead
  answer: z.string().default(""), // generate: what was streamed, without the beginning of a continued answer
  toolCalls: z.number().default(0), // generate_agent
  calls: z.array(CallerCall).default(() => []), // generate_agent: calls of the caller's tools that end the turn
  steps: z.number().default(0), // generate_agent: stored steps
  question: Question.nullable().default(null), // generate_agent: what the turn waits for; its end is not stored yet
  isLetGo: z.boolean().default(false), // generate_agent: the process stops, and another one goes on with the turn
  usage: TurnUsage.nullable().default(null), // generate: null when the model was not asked
  cost: Cost.default(null), // generate
  receipt: Receipt.nullable().default(null), // generate: null when the model was not asked
  answeredBy: z.string().nullable().default(null), // generate: the model's name; null when none was asked
  partialAnswer: z.boolean().default(false), // generate: the answer is not complete
  cut: Cut.default(null), // generate: only its length is cut
  error: TurnError.nullable().default(null), // route, generate, persist
  answerMessageId: z.string().nullable().default(null), // generate, persist: null when no answer was stored
  timings: new ReducedValue(
    z.record(z.string(), z.number()).default(() => ({})), // every node: its milliseconds
    { reducer: (earlier: Record<string, number>, later: Record<string, number>) => ({ ...earlier, ...later }) },
  ),
  degraded: new ReducedValue(
    z.array(Layer).default(() => []), // any node that could not use a memory layer
    { reducer: (earlier: Layer[], later: Layer[]) => [...new Set([...earlier, ...later])] },
  ),
  executionLogs: new ReducedValue(
    z.array(ExecutionLog).default(() => []), // every node, only with debug
    { reducer: (earlier: ExecutionLog[], later: ExecutionLog[]) => [...earlier, ...later] },
  ),
});

export type ConversationState = typeof ConversationState.State;
/** What a node may return. Annotate every node with it: else a misspelt key compiles and is silently dropped. */
export type ConversationUpdate = typeof ConversationState.Update;

/** Whether memory may use the stored answer: it is complete, or was before it was continued, and the turn leaves memory. */
export function isWholeAnswer({
  answer,
  partialAnswer,
  continued,
  remember,
}: Pick<ConversationState, "answer" | "partialAnswer" | "continued"> & { remember?: boolean }): boolean {
  return remember !== false && answer !== "" && (!partialAnswer || continued?.completed === true);
}

/** The messages that the summary does not cover: all, unless the window has grown since. */
export function uncoveredMessages(window: WindowMessage[], summary: ConversationSummary | null): WindowMessage[] {
  if (!summary) return window;
  const { createdAt, messageId } = summary.coveredThrough;
  return window.filter((message) => message.createdAt > createdAt || (message.createdAt === createdAt && message.id > messageId));
}
