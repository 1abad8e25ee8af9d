import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { makeFindMessages } from "../../../memory/recall/find-messages.ts";
import type { ListedMessage as StoredListedMessage, Rating, StoredMessage } from "../../../stores/postgres/conversations/message-store.ts";
import type { StoredAttachment } from "../../../stores/postgres/conversations/picture-store.ts";
import { PICTURE_TYPES } from "../../../turn/measure-picture.ts";
import { encodeCursor } from "../../../stores/page.ts";
import { toTurnStep, TurnStep } from "../../turns/turn-step.ts";
import { callerOf, tenantOf, userInPath } from "../../auth/caller.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Memory } from "../../parts/open-memory.ts";
import type { Observing } from "../../observe/open-observing.ts";
import { file, jsonBody, makeRouter, next, operationGroup, route, time } from "../../http/operation.ts";
import { callerId, pageQuery, parseRequest, parseUuid, storableText, toPageRequest, uuidField } from "../../http/parse-request.ts";
import { findConversation } from "./conversation-routes.ts";

const MAX_COMMENT_CHARACTERS = 2_000;
const POSITION = /^\d{1,4}$/;

const MessagesQuery = z.object({
  ...pageQuery,
  order: z.enum(["oldest_first", "newest_first"], "must be oldest_first or newest_first").default("oldest_first"),
  branch_id: uuidField.optional().describe("The path of this branch. Default: the active one."),
  include: z.literal("steps", "must be steps").optional().describe("Adds to each answer what its turn did."),
});

const MAX_QUERY_CHARACTERS = 400;

const SearchQuery = z.object({
  ...pageQuery,
  query: storableText
    .refine((text) => text.trim() !== "", "is blank; say which words to look for")
    .refine((text) => text.length <= MAX_QUERY_CHARACTERS, `has more than ${MAX_QUERY_CHARACTERS} characters`)
    .meta({ minLength: 1, maxLength: MAX_QUERY_CHARACTERS }),
});

const RatingRequest = z.strictObject(
  {
    value: z.union([z.literal(1), z.literal(-1)], "must be 1 or -1"),
    comment: storableText
      .refine((text) => text.length <= MAX_COMMENT_CHARACTERS, `has more than ${MAX_COMMENT_CHARACTERS} characters`)
      .nullable()
      .default(null)
      .meta({ maxLength: MAX_COMMENT_CHARACTERS }),
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with value and, if you like, comment" : undefined) },
);

const Rated = z.object({ value: z.union([z.literal(1), z.literal(-1)]), comment: z.string().nullable(), rated_at: time });

const Attachment = z.object({
  type: z.literal("image"),
  url: z.string().describe("Where its bytes are: a path of this service, or the address that the message gave."),
  media_type: z.string().nullable().describe("As its bytes tell. Null, as are the sizes, for an address, which is never opened here."),
  width: z.int().nullable(),
  height: z.int().nullable(),
  bytes: z.int().nullable(),
  detail: z.enum(["auto", "low", "high"]).nullable().describe("How closely the model looks at it, as the message said."),
});

export const Message = z.object({
  id: z.uuid(),
  role: z.enum(["user", "assistant"]),
  content: z.string(),
  completed: z.boolean(),
  created_at: time,
  metadata: z.record(z.string(), z.unknown()),
  rating: Rated.nullable().describe("What the user thinks of an answer."),
  attachments: z.array(Attachment).optional().describe("Its pictures, in their order. Left out without any."),
});
const Versions = z.object({
  index: z.int().describe("The place of this message among them, from 0."),
  count: z.int(),
  message_ids: z.array(z.uuid()).describe("Oldest first."),
});
const ListedMessage = Message.extend({
  versions: Versions.optional().describe("Messages that stand in the same place on other branches, and this one."),
  other_answers: z
    .array(z.uuid())
    .optional()
    .describe("Of a question without an answer on this path: its answers on other branches, oldest first. A switch shows them again."),
  steps: z.array(TurnStep).optional(),
  steps_next: z.string().optional().describe("There are more of them: the `after` of `GET /api/v1/turns/:id/steps`."),
});
const MessageList = z.object({ messages: z.array(ListedMessage), next });
const FoundMessage = z.object({ message: Message, conversation_id: z.uuid(), user_id: z.string() });
const FoundMessages = z.object({ messages: z.array(Message.extend({ conversation_id: z.uuid() })), next });
const RatingAnswer = z.object({ rating: Rated.nullable() });

const toRated = ({ value, comment, ratedAt }: Rating) => ({ value, comment, rated_at: ratedAt });

function toAttachment(messageId: string, { position, url, file: kept, detail }: StoredAttachment) {
  const { mediaType = null, width = null, height = null, byteCount = null } = kept ?? {};
  const about = { media_type: mediaType, width, height, bytes: byteCount, detail };
  return { type: "image" as const, url: url ?? `/api/v1/messages/${messageId}/attachments/${position}`, ...about };
}

export const toMessage = ({ id, role, content, completed, createdAt, metadata, rating, attachments }: StoredMessage) => {
  const shown = attachments.length === 0 ? {} : { attachments: attachments.map((one) => toAttachment(id, one)) };
  return { id, role, content, completed, created_at: createdAt, metadata, rating: rating && toRated(rating), ...shown };
};

const toListed = ({ versions, otherAnswers, ...message }: StoredListedMessage) => ({
  ...toMessage(message),
  ...(otherAnswers ? { other_answers: otherAnswers } : {}),
  ...(versions ? { versions: { index: versions.index, count: versions.count, message_ids: versions.messageIds } } : {}),
});

export const messageOperations = operationGroup({
  tag: "conversations",
  schemas: { MessageList, FoundMessage, FoundMessages, RatingRequest, RatingAnswer },
  routes: {
    listMessages: route(
      "GET /api/v1/conversations/:id/messages",
      "The messages of a conversation's active branch, oldest first unless `order` says otherwise",
      { query: MessagesQuery, answer: MessageList, errors: ["not_found"] },
    ),
    getMessage: route("GET /api/v1/messages/:id", "One message, and the conversation it belongs to", {
      answer: FoundMessage,
      errors: ["not_found"],
    }),
    getAttachment: route("GET /api/v1/messages/:id/attachments/:position", "The bytes of a picture in a message", {
      params: { position: z.string().regex(POSITION).describe("From 0.") },
      answers: { 200: { what: "The picture as it was sent.", content: Object.fromEntries(PICTURE_TYPES.map((type) => [type, file])) } },
      errors: ["not_found"],
    }),
    findMessages: route("GET /api/v1/users/:id/messages", "Finds exchanges with all the words of `query`, the newest first", {
      details:
        "Each complete exchange comes once, by the message that has most of the words. It is found when its job has indexed it, within seconds of its end.",
      params: { id: callerId },
      query: SearchQuery,
      answer: FoundMessages,
      errors: ["not_found", "index_unavailable"],
    }),
    rateMessage: route("PUT /api/v1/messages/:id/rating", "Rates an answer: 1 is good, -1 is bad. No memory learns from it", {
      body: jsonBody(RatingRequest),
      answer: RatingAnswer,
      errors: ["not_found"],
    }),
    removeRating: route("DELETE /api/v1/messages/:id/rating", "Takes the rating of an answer away", {
      answer: RatingAnswer,
      errors: ["not_found"],
    }),
  },
});

/** How long a browser may keep a picture; its bytes never change. */
const KEPT_SECONDS = 3_600;

const messageNotFound = (id: string): AppError => new AppError("not_found", `There is no message ${id}.`);

export function messageRoutes({
  stores,
  memory,
  observing,
}: {
  stores: Pick<Stores, "branches" | "conversations" | "messages" | "pictures" | "steps">;
  memory: Memory;
  observing: Observing;
}): Router {
  const find = memory.episodes && makeFindMessages({ index: memory.episodes.memory.index, messages: stores.messages });
  const { branches, conversations, messages, steps } = stores;
  return makeRouter(messageOperations, {
    async listMessages(request, response) {
      const { order, include, branch_id: branchId, ...given } = parseRequest(MessagesQuery, request.query);
      const page = toPageRequest(given);
      const conversation = await findConversation(conversations, request, response);
      const path = branchId === undefined ? null : await branches.findPath(conversation, branchId);
      const { items, next } = await messages.list(conversation, page, order, path);
      if (include === undefined) return void response.json({ messages: items.map(toListed), next });
      const turnOf = ({ role, metadata: { turn_id: id } }: StoredMessage) => (role === "assistant" && typeof id === "string" ? id : null);
      const found = await steps.ofTurns(
        conversation,
        items.map(turnOf).filter((id) => id !== null),
      );
      const last = found.at(-1);
      const byTurn = Map.groupBy(found, ({ turnId }) => turnId);
      const toAnswer = (message: StoredListedMessage) => ({
        ...toListed(message),
        steps: (byTurn.get(turnOf(message) ?? "") ?? []).map(toTurnStep),
        ...(last?.isMore && last.turnId === turnOf(message) ? { steps_next: String(last.seq) } : {}),
      });
      const cutAt = last?.isMore ? items.findIndex((message) => turnOf(message) === last.turnId) : items.length;
      const shown = items.slice(0, Math.max(1, cutAt));
      const end = shown.at(-1);
      response.json({
        messages: shown.map((message) => (message.role === "assistant" ? toAnswer(message) : toListed(message))),
        next: shown.length < items.length && end ? encodeCursor(end) : next,
      });
    },
    async getMessage(request, response) {
      const id = parseUuid("message id", request.params["id"]);
      const found = await messages.find(callerOf(response), id);
      if (!found) throw messageNotFound(id);
      response.json({ message: toMessage(found.message), conversation_id: found.conversationId, user_id: found.userId });
    },
    async getAttachment(request, response) {
      const id = parseUuid("message id", request.params["id"]);
      const position = String(request.params["position"]);
      const found = POSITION.test(position) ? await stores.pictures.find(callerOf(response), id, Number(position)) : null;
      if (!found) throw new AppError("not_found", `Message ${id} has no picture ${position.slice(0, 80)}.`);
      if (found.url !== null)
        throw new AppError("not_found", `Picture ${position} of message ${id} is not kept here. Open its own address.`);
      const { mediaType, hash, bytes } = found;
      const name = `picture-${Number(position) + 1}.${mediaType.replace("image/", "").replace("jpeg", "jpg")}`;
      response.set({
        "cache-control": `private, max-age=${KEPT_SECONDS}`,
        "content-disposition": `inline; filename="${name}"`,
        etag: `"${hash}"`,
      });
      if (request.fresh) return void response.status(304).end();
      response.type(mediaType).send(bytes);
    },
    async findMessages(request, response) {
      const owner = { tenantId: tenantOf(response), userId: userInPath(request, response) };
      const { query, ...page } = parseRequest(SearchQuery, request.query);
      if (!find) throw new AppError("index_unavailable", "Episodic memory is switched off. Set ENABLE_EPISODIC_MEMORY=true.");
      const { items, next } = await find(owner, query, toPageRequest(page));
      const messages = items.map(({ message, conversationId }) => ({ ...toMessage(message), conversation_id: conversationId }));
      response.json({ messages, next });
    },
    async rateMessage(request, response) {
      const { value, comment } = parseRequest(RatingRequest, request.body);
      const id = parseUuid("message id", request.params["id"]);
      const rated = await messages.rate(callerOf(response), id, { value, comment });
      if (!rated) throw messageNotFound(id);
      if (!rated.rating) throw AppError.invalid([{ field: "message id", problem: "is a message of the user; rate the answer to it" }]);
      if (rated.before !== value) observing.metrics.answerRated(value);
      response.json({ rating: toRated(rated.rating) });
    },
    async removeRating(request, response) {
      const id = parseUuid("message id", request.params["id"]);
      if (!(await messages.removeRating(callerOf(response), id))) throw messageNotFound(id);
      response.json({ rating: null });
    },
  });
}
