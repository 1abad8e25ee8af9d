import { ConversationsQuery, MessagesQuery } from "../../conversations/conversation-routes.ts";
import { SettleQuery, SummaryQuery } from "../../memory/summary-routes.ts";
import { ImportRequest } from "../../conversations/import-routes.ts";
import { ConversationJobs, ConversationList, FoundMessage, MessageList, SettleAnswer, SummaryAnswer } from "./answers.ts";
import { ERASED } from "./erase-answers.ts";
import { BODY_ERRORS, jsonAnswer, jsonBody, type Operation } from "./operation.ts";
import { ImportEvent, ImportResult } from "./turn-answers.ts";

const tag = "conversations";

export const CONVERSATION_OPERATIONS: readonly Operation[] = [
  {
    id: "listConversations",
    method: "get",
    path: "/api/v1/conversations",
    tag,
    summary: "A user's conversations, newest first",
    query: ConversationsQuery,
    answers: { 200: jsonAnswer(ConversationList) },
  },
  {
    id: "listMessages",
    method: "get",
    path: "/api/v1/conversations/:id/messages",
    tag,
    summary: "The messages of a conversation, oldest first unless `order` says otherwise",
    query: MessagesQuery,
    answers: { 200: jsonAnswer(MessageList) },
    errors: ["not_found"],
  },
  {
    id: "getSummary",
    method: "get",
    path: "/api/v1/conversations/:id/summary",
    tag,
    summary: "The summary of a conversation, the present one or one of the last `version`s; null before there is one",
    query: SummaryQuery,
    answers: { 200: jsonAnswer(SummaryAnswer) },
    errors: ["not_found"],
  },
  {
    id: "listConversationJobs",
    method: "get",
    path: "/api/v1/conversations/:id/jobs",
    tag,
    summary: "The background jobs of a conversation and of its user's memory agent that wait, run or failed for good, oldest first",
    answers: { 200: jsonAnswer(ConversationJobs) },
    errors: ["not_found"],
  },
  {
    id: "getMessage",
    method: "get",
    path: "/api/v1/messages/:id",
    tag,
    summary: "One message, and the conversation it belongs to",
    answers: { 200: jsonAnswer(FoundMessage) },
    errors: ["not_found"],
  },
  {
    id: "settleConversation",
    method: "post",
    path: "/api/v1/conversations/:id/settle",
    tag,
    summary: "Waits until the background jobs of a conversation are done",
    query: SettleQuery,
    answers: { 200: jsonAnswer(SettleAnswer) },
    errors: ["not_found", "unsupported_media_type"],
  },
  {
    id: "importMessages",
    method: "post",
    path: "/api/v1/conversations/import",
    tag,
    summary: "History from elsewhere: all of it, or nothing when one message is wrong, unless wrong ones are to be skipped",
    details:
      "With `Accept: text/event-stream` it tells its progress. Questions are paired with the answers behind them; a message without a partner is remembered, too.",
    body: jsonBody(ImportRequest),
    answers: {
      200: {
        what: "What was imported. As server-sent events each `data:` line is one JSON object of the schema; the last one is `done` or `error`.",
        content: { "application/json": ImportResult, "text/event-stream": ImportEvent },
      },
    },
    errors: [...BODY_ERRORS, "conversation_busy"],
  },
  {
    id: "eraseConversation",
    method: "delete",
    path: "/api/v1/conversations/:id",
    tag,
    summary: "Erases a conversation with all that came of it",
    answers: ERASED,
    errors: ["not_found"],
  },
];
