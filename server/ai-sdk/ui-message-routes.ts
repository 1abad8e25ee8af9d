import type { Request, Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { callerOf, tenantOf } from "../auth/caller.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { Agents } from "../parts/open-agents.ts";
import { abortSignalOnClose, openEventStream } from "../http/event-stream.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../http/operation.ts";
import { callerId, parseRequest } from "../http/parse-request.ts";
import { findUser } from "../turns/named-user.ts";
import { assertKnown } from "../turns/chat-request.ts";
import { MODEL_ERRORS, START_ERRORS } from "../api/turns/chat-routes.ts";
import { parseChatRequest } from "../turns/chat-request.ts";
import { readPictures } from "../turns/read-parts.ts";
import { findTurn, sourceOf, type TurnParts } from "../turns/find-turn.ts";
import { localSource, type TurnSource } from "../turns/turn-source.ts";
import { makeUiParts } from "./ui-message-parts.ts";
import { answerInWords, approvalOf, openCallsOf, picturesOf, textOf, UiMessagesBody } from "./ui-message-request.ts";
import type { StoredMessage } from "../../stores/postgres/conversations/message-store.ts";
import type { Owner } from "../../turn/owner.ts";

/** The turn's input: a message at the end, a replaced message, or an answer to give again. */
type Asked = { message: string } | { message: string; edit_of: string } | { regenerate: string };

const MOST_LOOKED_AT = 1_000;

function refuse(problem: string): AppError {
  return AppError.invalid([{ field: "messageId", problem }]);
}

function again(question: StoredMessage, next: StoredMessage | undefined): Asked {
  return next?.role === "assistant" ? { regenerate: next.id } : { message: question.content, edit_of: question.id };
}

/**
 * Finds where a chat goes back to. The client has its own ids for the user's messages, so they are found by their words, or by the answer
 * before them, whose id is ours.
 */
function makeFindPlace({ conversations, messages }: Pick<Stores, "conversations" | "messages">) {
  return async function findPlace(
    session: Owner & { sessionId: string },
    { trigger, messageId, messages: shown }: Pick<UiMessagesBody, "trigger" | "messageId" | "messages">,
    words: string,
  ): Promise<Asked> {
    const isAgain = trigger === "regenerate-message";
    if (!isAgain && !messageId) return { message: words };
    const conversationId = await conversations.findOfSession(session);
    const page = { limit: MOST_LOOKED_AT, after: null };
    const newest = conversationId === null ? [] : (await messages.list({ ...session, conversationId }, page, "newest_first")).items;
    const path = newest.toReversed();
    const named = path.findIndex(({ id }) => id === messageId);
    if (isAgain) {
      if (path[named]?.role === "assistant") return { regenerate: messageId ?? "" };
      const place = named >= 0 ? named : path.findLastIndex(({ role, content }) => role === "user" && content === words);
      const question = path[place];
      if (!question) throw refuse("is no answer of this chat, and nothing in it was asked in the words of the last message");
      return again(question, path[place + 1]);
    }
    if (path[named]?.role === "user") return { message: words, edit_of: messageId ?? "" };
    const answers = new Set(shown.flatMap(({ id, role }) => (role === "assistant" ? [id] : [])));
    const behind = path.slice(path.findLastIndex(({ id }) => answers.has(id)) + 1);
    const replaced = behind.find(({ role }) => role === "user");
    return replaced ? { message: words, edit_of: replaced.id } : { message: words }; // a question that failed before it was stored
  };
}

const stream = {
  what: "A UI message stream of the AI SDK; the last line is `[DONE]`.",
  content: { "text/event-stream": z.unknown() },
  headers: ["X-Turn-Id"],
} as const;

export const uiMessageOperations = operationGroup({
  tag: "turns",
  schemas: { UiMessagesBody },
  routes: {
    streamUiMessages: route("POST /api/v1/chat/ui-messages", "One turn, as `useChat` of the AI SDK asks for it", {
      headers: ["X-User-Id"],
      body: jsonBody(UiMessagesBody),
      answers: { 200: stream },
      errors: [
        ...START_ERRORS,
        ...MODEL_ERRORS,
        "not_found",
        "not_offered",
        "already_answered",
        "question_expired",
        "turn_cancelled",
        "turn_superseded",
      ],
    }),
    resumeUiMessages: route("GET /api/v1/chat/ui-messages/:chat_id/stream", "The turn that runs in a chat, from its beginning", {
      headers: ["X-User-Id"],
      params: { chat_id: callerId },
      answers: { 200: stream, 204: { what: "None runs.", content: {} } },
    }),
  },
});

async function sendUiMessages(response: Response, source: TurnSource, heartbeatMs: number, shown?: UiMessagesBody): Promise<void> {
  const left = abortSignalOnClose(response);
  const turnId = (await source.streamedTurnId) ?? source.turnId;
  const headers = { "x-turn-id": turnId, "x-vercel-ai-ui-message-stream": "v1" };
  using events = openEventStream(response, { heartbeatMs, headers });
  const last = shown?.messages.at(-1);
  const parts = makeUiParts(turnId, last ? openCallsOf(last) : []);
  await events.send(
    parts.opening().map((part) => ({ data: JSON.stringify(part) })),
    { atOnce: true },
  );
  for await (const batch of source.eventBatches(left)) {
    if (response.destroyed) return;
    const sent = batch.flatMap((event) => parts.of(event)).map((part) => ({ data: JSON.stringify(part) }));
    if (sent.length > 0) await events.send(sent);
  }
  await events.send([{ data: "[DONE]" }]);
  events.end();
}

export function uiMessageRoutes(parts: TurnParts & { stores: Stores; agents: Agents; heartbeatMs: number }): Router {
  const { config, stores, agents, turns, heartbeatMs } = parts;
  const findPlace = makeFindPlace(stores);

  /** The turn that the user's answer resumes; null: the message begins another. */
  async function answer(response: Response, userId: string, { id, messages }: UiMessagesBody): Promise<TurnSource | null> {
    const last = messages.at(-1);
    const waiting = await stores.questions.waitingIn({ tenantId: tenantOf(response), userId, sessionId: id });
    if (!waiting || !last) return null;
    const { question, turnId } = waiting;
    if (last.role === "user" && picturesOf(last, messages.length - 1).length > 0) return null; // an answer has words only
    const reply = last.role === "user" ? answerInWords(question, textOf(last).trim()) : approvalOf(last, question.id);
    if (!reply) return null;
    const { turn } = await turns.answer(callerOf(response), turnId, question.id, reply);
    return localSource(turn, false);
  }

  async function begin(request: Request, response: Response, userId: string, body: UiMessagesBody): Promise<TurnSource> {
    const place = body.messages.length - 1;
    const last = body.messages[place];
    if (last?.role !== "user")
      throw AppError.invalid([
        { field: `messages.${place}`, problem: "is no message of the user, and answers nothing that this chat waits for" },
      ]);
    const given = readPictures(picturesOf(last, place), `messages.${place}`, config.MAX_PICTURES);
    const words = textOf(last);
    const text = given.length > 0 && words.trim() === "" ? "" : words;
    const said = await findPlace({ tenantId: tenantOf(response), userId, sessionId: body.id }, body, text);
    const pictures = "regenerate" in said ? [] : given;
    const chat = parseChatRequest(
      {
        user_id: userId,
        session_id: body.id,
        ...said,
        agent: body.agent ?? null,
        kb_prefix: body.kb_prefix ?? null,
        model: body.model ?? null,
        ...(body.instructions ? { instructions: body.instructions } : {}),
        on_busy: "cancel_waiting",
        on_disconnect: body.on_disconnect ?? "cancel",
      },
      config.MAX_MESSAGE_CHARS,
      pictures.length > 0,
    );
    await assertKnown({ stores, agents }, tenantOf(response), chat);
    const source = await turns.open(request, response, chat, pictures.length > 0 ? { pictures } : {});
    await source.accepted;
    return source;
  }

  return makeRouter(uiMessageOperations, {
    async streamUiMessages(request, response) {
      const body = parseRequest(UiMessagesBody, request.body);
      const userId = findUser(request, callerOf(response), { user: body.user_id });
      const answered = body.trigger === "regenerate-message" ? null : await answer(response, userId, body);
      if (answered) turns.registry.attach(answered.turnId, response, { cancels: body.on_disconnect !== "continue" });
      await sendUiMessages(response, answered ?? (await begin(request, response, userId, body)), heartbeatMs, body);
    },
    async resumeUiMessages(request, response) {
      const { chat_id: sessionId } = parseRequest(z.object({ chat_id: callerId }), request.params);
      const owner = { tenantId: tenantOf(response), userId: findUser(request, callerOf(response)) };
      const turnId = await stores.turns.findRunning({ ...owner, sessionId });
      if (turnId === null) return void response.status(204).end();
      const found = await findTurn(parts, callerOf(response), turnId);
      turns.registry.attach(turnId, response, { cancels: false });
      await sendUiMessages(response, sourceOf(parts, found), heartbeatMs);
    },
  });
}
