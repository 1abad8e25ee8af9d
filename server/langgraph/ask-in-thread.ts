import { HumanMessage } from "@langchain/core/messages";
import type { Response } from "express";
import { AppError } from "../../errors/app-error.ts";
import type { OwnedConversation } from "../../turn/owner.ts";
import type { StoredThread } from "../../stores/postgres/turns/thread-store.ts";
import type { Picture } from "../../turn/picture.ts";
import type { Config } from "../settings/config.ts";
import type { Stores } from "../parts/open-stores.ts";
import { MOST_BYTES_OF_MESSAGE, readPictures } from "../turns/read-parts.ts";
import type { Checkpoints, NextTurn } from "./checkpoints.ts";
import { makeStoredMessages } from "./thread-messages.ts";
import { checkpointOf, messageOf, type RunBody } from "./run-request.ts";
import { type MessageDict, MOST_MESSAGES, storedMessageDict, toMessageDict } from "./thread-values.ts";
import { conversationOf } from "./threads.ts";

/** A run's question, and the messages before it. */
interface Asked {
  said: MessageDict;
  pictures: Picture[];
  earlier: MessageDict[];
  fields: { message?: string; edit_of?: string; regenerate?: string };
}

export const isNothing = (input: unknown): boolean => input === null || input === undefined;

/** Throws AppError `invalid_request` or `picture_too_large`. */
export function newQuestion(input: unknown, mostPictures: number): Pick<Asked, "said" | "pictures" | "fields"> {
  const { id, text, pictures: given } = messageOf(input);
  const pictures = readPictures(given, "input.messages", mostPictures);
  return {
    said: toMessageDict(new HumanMessage({ content: text, ...(id === undefined ? {} : { id }) })),
    pictures,
    fields: { message: text },
  };
}

/** Finds out what a run of a thread asks. */
export function makeAskInThread({
  config,
  stores,
  checkpoints,
}: { config: Config; stores: Pick<Stores, "messages" | "pictures" | "steps" | "turns"> } & { checkpoints: Checkpoints }) {
  const readStored = makeStoredMessages({ stores });

  /** The messages before a question of a path, or all of the active one, each with its turn's acts. */
  async function messagesBefore(response: Response, thread: StoredThread | null, next?: NextTurn): Promise<MessageDict[][]> {
    if (!thread) return [];
    const page = { limit: MOST_MESSAGES, after: next?.question ?? null };
    const conversation = conversationOf(response, thread);
    const { items } = await stores.messages.list(conversation, page, "newest_first", next?.path);
    return readStored(conversation, items.toReversed());
  }

  /** The run that holds the thread, when it has to leave the path. */
  async function rolledBack(conversation: OwnedConversation, held: string | null, { multitask_strategy: strategy }: RunBody) {
    return strategy === "rollback" && held !== null ? checkpoints.heldTurn(conversation, held) : null;
  }

  /**
   * What to answer in a thread: the input, after its checkpoint; without an input the question after that checkpoint again. Throws AppError
   * `not_found` or `invalid_request`.
   */
  async function askIn(response: Response, thread: StoredThread, body: RunBody): Promise<Asked> {
    const conversation = conversationOf(response, thread);
    const checkpointId = checkpointOf(body);
    const held = thread.status === "idle" ? null : await stores.turns.findHeld(conversation);
    const running = thread.status === "interrupted" ? null : held; // a waiting question is shown as any other
    const next = checkpointId === null ? null : await checkpoints.nextOf(conversation, checkpointId, running);
    if (!isNothing(body.input)) {
      const takenBack = next ?? (await rolledBack(conversation, held, body));
      const { fields, ...asked } = newQuestion(body.input, config.MAX_PICTURES);
      const earlier = (await messagesBefore(response, thread, takenBack ?? undefined)).flat();
      return { ...asked, earlier, fields: { ...fields, ...(takenBack === null ? {} : { edit_of: takenBack.question.id }) } };
    }
    if (!next) {
      const problem = "is missing; without one a run answers the question behind a checkpoint again, and there is none";
      throw AppError.invalid([{ field: "input", problem }]);
    }
    const { question, answer } = next;
    const fields = answer ? { regenerate: answer.id } : { edit_of: question.id, message: question.content };
    const shown = answer
      ? new Map<string, Picture[]>()
      : await stores.pictures.ofMessages(conversation, [question.id], MOST_BYTES_OF_MESSAGE);
    const earlier = (await messagesBefore(response, thread, next)).flat();
    return { said: storedMessageDict(question), pictures: shown.get(question.id) ?? [], earlier, fields };
  }

  return { askIn, messagesBefore };
}
