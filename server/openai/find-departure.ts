import type { Request } from "express";
import type { Owner } from "../../turn/owner.ts";
import { MAX_BRANCHES } from "../../stores/postgres/paths/branch-path.ts";
import type { Picture } from "../../turn/picture.ts";
import type { Stores } from "../parts/open-stores.ts";
import { alignHistory, type AskedMessage, type Departure, isAtEnd, type ShownMessage } from "./align-history.ts";
import type { CompletionRequest } from "./completion-request.ts";
import { isFrontEndWithHistory } from "./user-and-session.ts";
import { unwrapMessage } from "./wrapped-message.ts";

function shownIn({ messages }: CompletionRequest): ShownMessage[] {
  return messages.slice(0, -1).flatMap(({ role, text, images }) => {
    if (role !== "user" && role !== "assistant") return [];
    return [{ role, text: role === "user" ? unwrapMessage(text).message : text, pictureCount: images.length }];
  });
}

const isOff = (request: Request): boolean => request.get("x-branching")?.trim().toLowerCase() === "off";

interface Compared {
  session: Owner & { sessionId: string };
  completion: CompletionRequest;
  message: string;
  pictures: readonly Picture[];
}

/** Where a request's turn leaves the path: see `alignHistory`. One statement, mostly of a few messages. */
export async function findDeparture(
  { branches }: Pick<Stores, "branches">,
  request: Request,
  { session, completion, message, pictures }: Compared,
): Promise<Departure> {
  if (isOff(request)) return null;
  const shown = shownIn(completion);
  const count = shown.filter(({ text, pictureCount }) => text !== "" || pictureCount > 0).length;
  const quick = await branches.readEnds({ ...session, shown: count, isQuick: true });
  if (!quick || (quick.gapBefore === 0 && isAtEnd(shown, quick.messages))) return null;
  const ends = quick.gapBefore === 0 ? await branches.readEnds({ ...session, shown: count, isQuick: false }) : quick;
  if (!ends || ends.depth >= MAX_BRANCHES) return null;
  const asked: AskedMessage = { text: message, pictures: pictures.map(({ url, file }) => file?.hash ?? url) };
  const sendsHistory = ends.sendsHistory || isFrontEndWithHistory(request);
  return alignHistory({ shown, asked, kept: ends.messages, gapBefore: ends.gapBefore, sendsHistory });
}
