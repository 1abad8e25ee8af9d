import { AppError } from "../../errors/app-error.ts";
import type { StoredMessage } from "../../stores/postgres/conversations/message-store.ts";
import type { Owner } from "../../turn/owner.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { UiMessagesBody } from "./ui-message-request.ts";

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
export function makeFindPlace({ conversations, messages }: Pick<Stores, "conversations" | "messages">) {
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
