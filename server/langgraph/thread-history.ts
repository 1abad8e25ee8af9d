import { isDeepStrictEqual } from "node:util";
import { fittingPage, jsonBytes, MOST_PAGE_BYTES } from "../../stores/page.ts";
import type { ListedMessage } from "../../stores/postgres/conversations/message-store.ts";
import type { Stores } from "../parts/open-stores.ts";
import { type Checkpoints, isBeginning, noSuchCheckpoint, type OwnedThread } from "./checkpoints.ts";
import { makeStoredMessages, turnOf } from "./thread-messages.ts";
import { MOST_STATES, type StatePlace, type ThreadState, toState } from "./thread-state.ts";
import { type MessageDict, MOST_MESSAGES } from "./thread-values.ts";

interface TurnEnd {
  turnId: string | null;
  end: number;
}

/**
 * Where turns end in messages, oldest first. A question belongs to the turn whose answer follows, even if another turn asked it first.
 * Messages imported after the last turn are part of the newest state.
 */
function turnEnds(messages: readonly ListedMessage[]): TurnEnd[] {
  const ends: TurnEnd[] = [];
  for (const [index, message] of messages.entries()) {
    const turnId = turnOf(message);
    const last = ends.at(-1);
    const isAnswered = message.role === "assistant" && messages[index - 1]?.role === "user" && last?.end === index;
    if (turnId !== null && last && (last.turnId === turnId || isAnswered)) Object.assign(last, { turnId, end: index + 1 });
    else if (turnId !== null) ends.push({ turnId, end: index + 1 });
  }
  const last = ends.at(-1);
  if (last) last.end = messages.length;
  return ends;
}

interface ReadStates {
  limit: number;
  /** Starts at the state after this turn; null: at the newest. */
  from?: string | null;
  /** Only older states than this turn's. */
  before?: string | null;
  /** Only states with this metadata, among the newest MOST_STATES. */
  metadata?: Record<string, unknown>;
}

interface ReadPage {
  all: ListedMessage[];
  shown: { dicts: MessageDict[]; bytes: number }[];
  isWhole: boolean;
  endsWithQuestion: boolean;
}

/** `others`: messages of other branches in place of its own. */
type Place = StatePlace & { others: string[]; lastId: string; createdAt: Date };

const othersOf = ({ id, versions }: ListedMessage): string[] => versions?.messageIds.filter((other) => other !== id) ?? [];

/** The places of a path, newest first. A question that was answered again has a place after it, at which its answers part. */
function placesOf({ threadId }: OwnedThread, { all, shown, isWhole, endsWithQuestion }: ReadPage): Place[] {
  const places: Place[] = [];
  const toPlace = (checkpointId: string | null, from: number, end: number): Place => {
    const newest = fittingPage(shown.slice(Math.max(0, end - MOST_MESSAGES), end).toReversed(), ({ bytes }) => bytes).toReversed();
    const own = all.slice(from, end);
    return {
      checkpointId,
      parentId: places.at(-1)?.checkpointId ?? (isWhole ? threadId : null),
      step: places.length,
      messages: newest.flatMap(({ dicts }) => dicts),
      bytes: newest.reduce((sum, { bytes }) => sum + bytes, 0),
      createdAt: own.at(-1)?.createdAt ?? new Date(),
      lastId: own.at(-1)?.id ?? "",
      others: own.flatMap(othersOf),
    };
  };
  let start = 0;
  const ends = turnEnds(all);
  for (const [index, { turnId, end }] of ends.entries()) {
    const again = all.findIndex(({ role, versions }, place) => place > start && place < end && role === "assistant" && versions);
    const question = all[again - 1];
    if (question?.role === "user") places.push(toPlace(question.id, start, again));
    const isQuestion = endsWithQuestion && index === ends.length - 1;
    places.push(toPlace(isQuestion ? (all.at(-1)?.id ?? null) : turnId, question?.role === "user" ? again : start, end));
    start = end;
  }
  return places.toReversed();
}

/** States of threads, read from conversations and turns. */
export function makeThreadStates({
  stores,
  checkpoints,
}: { stores: Pick<Stores, "branches" | "coreMemory" | "messages" | "steps" | "summaries" | "turns"> } & { checkpoints: Checkpoints }) {
  const { branches, messages, turns, summaries, coreMemory } = stores;
  const readStored = makeStoredMessages({ stores });

  /** The newest messages of a path, oldest first. */
  async function pageOf(conversation: OwnedThread, limit: number, path: string | null, endsWithQuestion = false): Promise<ReadPage> {
    const most = MOST_MESSAGES + 3 * (limit + 1);
    const { items, next } = await messages.list(conversation, { limit: most, after: null }, "newest_first", path);
    const all = items.toReversed();
    const shown = (await readStored(conversation, all)).map((dicts) => ({ dicts, bytes: jsonBytes(dicts) }));
    return { all, shown, isWhole: next === null, endsWithQuestion };
  }

  /**
   * The places of a path, newest first, each followed by those of branches that leave there. `isShared`: a place of the path that the
   * branch has left.
   */
  async function* walk(
    conversation: OwnedThread,
    page: ReadPage,
    limit: number,
    isShared: (place: Place) => boolean = () => false,
  ): AsyncGenerator<Place, void> {
    const ids = new Set(page.all.map(({ id }) => id));
    const oldest = (page.isWhole ? null : page.all[0]?.createdAt) ?? new Date(0);
    const isHere = (place: Place): boolean => ids.has(place.lastId) || place.createdAt < oldest || isShared(place);
    for (const place of placesOf(conversation, page)) {
      if (isShared(place)) return;
      yield place;
      for (const other of place.others) {
        if (ids.has(other)) continue;
        const path = await branches.findPath(conversation, await branches.findBranchOf(conversation, other));
        for await (const one of walk(conversation, await pageOf(conversation, limit, path), limit, isHere)) {
          yield one;
          ids.add(one.lastId);
        }
      }
    }
  }

  /** The state before everything: an edit of the first question starts there. */
  const toBeginning = (conversation: OwnedThread): ThreadState => {
    const nothing = { parentId: null, messages: [], bytes: 0, createdAt: null, step: -1 };
    return toState(conversation, { checkpointId: conversation.threadId, ...nothing }, { record: undefined, now: null });
  };

  /**
   * Newest first, on all branches, as many as fit into a page. `next`: the last one, when more may follow. A thread without turns has one
   * state without a checkpoint.
   */
  async function list(conversation: OwnedThread, given: ReadStates): Promise<{ states: ThreadState[]; next: string | null }> {
    const isNewest = !given.from && !given.before;
    const filter = Object.entries(given.metadata ?? {});
    const limit = filter.length > 0 ? MOST_STATES : given.limit;
    const anchor = given.from ?? given.before ?? null;
    if (anchor !== null && isBeginning(conversation, anchor)) return { states: given.from ? [toBeginning(conversation)] : [], next: null };
    const at = anchor === null ? null : await checkpoints.placeOf(conversation, anchor);
    const [page, summary, core] = await Promise.all([
      pageOf(conversation, limit, at?.through ?? null, at?.isQuestion),
      isNewest ? summaries.find(conversation) : null,
      isNewest ? coreMemory.load(conversation) : null,
    ]);
    const now = core && { summary, sections: core.sections };
    const isSkipped = (place: Place): boolean => !given.from && place.checkpointId === anchor;
    const found: Place[] = [];
    let bytes = 0;
    let isCut = false;
    for await (const place of walk(conversation, page, limit)) {
      if (isSkipped(place)) {
        if (!at?.isActive) place.others.length = 0; // its history has shown them already
        continue;
      }
      bytes += place.bytes;
      isCut = found.length === limit || (bytes > MOST_PAGE_BYTES && found.length > 0);
      if (isCut) break;
      found.push(place);
      if (given.limit === 1 && given.from) break;
    }
    if (found.length === 0 && isNewest) {
      const messagesOf = page.shown.slice(-MOST_MESSAGES).flatMap(({ dicts }) => dicts);
      const place = {
        checkpointId: null,
        parentId: null,
        step: -1,
        messages: messagesOf,
        bytes: 0,
        createdAt: page.all.at(-1)?.createdAt ?? null,
      };
      return { states: [toState(conversation, place, { record: undefined, now })], next: null };
    }
    const ids = found.flatMap(({ checkpointId }) => checkpointId ?? []);
    const records = new Map((await turns.findAll(conversation, ids)).map((record) => [record.id, record]));
    const states = found.map((place, index) => {
      return toState(conversation, place, { record: records.get(place.checkpointId ?? ""), now: isNewest && index === 0 ? now : null });
    });
    const holds = ({ metadata }: ThreadState) => filter.every(([name, value]) => isDeepStrictEqual(metadata[name], value));
    const shown = states.filter(holds);
    const last = shown.length > given.limit ? shown[given.limit - 1]?.checkpoint.checkpoint_id : isCut && found.at(-1)?.checkpointId;
    return { states: shown.slice(0, given.limit), next: last || null };
  }

  return {
    /** The history; empty for a thread without messages. Throws AppError `not_found`. */
    async list(conversation: OwnedThread, asked: ReadStates): Promise<{ states: ThreadState[]; next: string | null }> {
      const { states, next } = await list(conversation, asked);
      const isSaid = ({ checkpoint, values }: ThreadState) => checkpoint.checkpoint_id !== null || (values.messages ?? []).length > 0;
      return { states: states.filter(isSaid), next };
    },
    /** The newest state, or that after a turn. Throws AppError `not_found`. */
    async read(conversation: OwnedThread, turnId: string | null = null): Promise<ThreadState> {
      const [state] = (await list(conversation, { limit: 1, from: turnId })).states;
      if (!state || (turnId !== null && state.checkpoint.checkpoint_id !== turnId)) throw noSuchCheckpoint(turnId ?? "");
      return state;
    },
  };
}
