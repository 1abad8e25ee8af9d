import { v7 as uuidv7 } from "uuid";
import type { Queryable } from "../database/database.ts";
import { onPathSql, pathOf } from "../paths/branch-path.ts";
import { isLiveSql } from "./exchanges.ts";
import type { Role } from "./message-store.ts";
import type { Cursor } from "../../page.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";

/** A message to import; without `createdAt` it counts as said now. The same `metadata.external_id` is imported once. */
export interface MessageToImport {
  role: Role;
  content: string;
  createdAt: Date | null;
  metadata: Record<string, unknown>;
}

export interface NewMessage extends MessageToImport {
  id: string;
  createdAt: Date;
  /** Its place among the imported messages of the conversation, from 1. */
  number: number;
  partnerId: string | null;
  endsExchange: boolean;
}

interface ImportPlan {
  messages: NewMessage[];
  /** Stored messages that get a partner. */
  joined: (Cursor & { partnerId: string })[];
}

export interface ConversationToFill {
  createdAt: Date;
  importedCount: number;
  /** The time of messages without one. */
  now: Date;
}

/** Stored messages on either side that may be partners of new ones. */
const NEIGHBOURS = 100;

const KNOWN_IDS = `
select metadata->>'external_id' as external_id from messages
where conversation_id = $1 and metadata ? 'external_id' and metadata->>'external_id' = any($2)`;

const NEAR = `
select id, role, created_at as "createdAt", not ${isLiveSql("messages")} and partner_id is null as "isFree" from messages
where conversation_id = $1 and completed and ${onPathSql("messages", pathOf("$1"))}
  and created_at >= coalesce((
    select min(created_at) from (
      select created_at from messages where conversation_id = $1 and completed and created_at < $2 order by created_at desc limit ${NEIGHBOURS}
    ) before), $2)
  and created_at <= coalesce((
    select max(created_at) from (
      select created_at from messages where conversation_id = $1 and completed and created_at > $3 order by created_at limit ${NEIGHBOURS}
    ) behind), $3)
order by created_at, id`;

/** The new messages: each external id counts once over all imports. */
async function withoutKnown(
  transaction: Queryable,
  conversationId: string,
  messages: readonly MessageToImport[],
): Promise<MessageToImport[]> {
  function externalIdOf({ metadata: { external_id: id } }: MessageToImport): string | undefined {
    return typeof id === "string" || id === undefined ? id : JSON.stringify(id);
  }
  const ids = messages.map(externalIdOf).filter((id) => id !== undefined);
  if (ids.length === 0) return [...messages];
  const rows = await transaction.query<{ external_id: string }>({ name: "import-known", text: KNOWN_IDS, values: [conversationId, ids] });
  const known = new Set(rows.map(({ external_id }) => external_id));
  return messages.filter((message) => {
    const id = externalIdOf(message);
    if (id === undefined) return true;
    if (known.has(id)) return false;
    known.add(id);
    return true;
  });
}

function sortByTime(messages: readonly MessageToImport[], now: Date): (MessageToImport & { createdAt: Date })[] {
  let last = now.getTime();
  return messages
    .map((message) => ({ ...message, createdAt: message.createdAt ?? new Date(++last) }))
    .sort((one, other) => one.createdAt.getTime() - other.createdAt.getTime());
}

const compareByPlace = (one: Cursor, other: Cursor): number =>
  one.createdAt.getTime() - other.createdAt.getTime() || (one.id < other.id ? -1 : 1);

/**
 * Finds the new messages and pairs them, in a locked conversation. Stored pairs stay. Ids do not depend on the clock: at one time, later
 * imports sort after earlier ones.
 */
export async function planImport(
  transaction: Queryable,
  { conversationId }: OwnedConversation,
  sent: readonly MessageToImport[],
  { createdAt: began, importedCount, now }: ConversationToFill,
): Promise<ImportPlan> {
  const sorted = sortByTime(await withoutKnown(transaction, conversationId, sent), now);
  const added = sorted.map((message, index) => {
    const number = importedCount + index + 1;
    return { ...message, number, id: uuidv7({ msecs: began.getTime(), seq: number }) };
  });
  const [first, last] = [added[0], added.at(-1)];
  if (!first || !last) return { messages: [], joined: [] };
  const near = await transaction.query<OrderedMessage & Cursor>({
    name: "import-near",
    text: NEAR,
    values: [conversationId, first.createdAt, last.createdAt],
  });
  const ordered = [...near, ...added.map((message) => ({ ...message, isFree: true }))].sort(compareByPlace);
  const partners = new Map(pairByOrder(ordered).flatMap(([asked, answer]) => [[asked, answer] as const, [answer, asked] as const]));
  const isNew = new Set(added.map(({ id }) => id));
  const placed = new Set<string>();
  return {
    messages: added.map((message) => {
      const partnerId = partners.get(message.id) ?? null;
      placed.add(message.id);
      const endsExchange = partnerId === null || !isNew.has(partnerId) || placed.has(partnerId);
      return { ...message, partnerId, endsExchange };
    }),
    joined: near.flatMap(({ id, createdAt }) => {
      const partnerId = partners.get(id);
      return partnerId === undefined ? [] : [{ id, partnerId, createdAt }];
    }),
  };
}

interface OrderedMessage {
  id: string;
  role: Role;
  /** Imported, without a partner. */
  isFree: boolean;
}

type Pair = readonly [userMessageId: string, answerId: string];

/**
 * Pairs a run of questions with the run of answers after it, one by one. Of too many questions the last are answered; of too many answers
 * the first are used. A message that is not free ends a run.
 */
export function pairByOrder(messages: readonly OrderedMessage[]): Pair[] {
  const pairs: Pair[] = [];
  let questions: string[] = [];
  let answers: string[] = [];
  function pairRun(): void {
    const count = Math.min(questions.length, answers.length);
    const answered = questions.slice(questions.length - count);
    answered.forEach((userMessageId, index) => pairs.push([userMessageId, answers[index] ?? ""]));
    [questions, answers] = [[], []];
  }
  for (const { id, role, isFree } of messages) {
    if (!isFree || (role === "user" && answers.length > 0)) pairRun();
    if (isFree) (role === "user" ? questions : answers).push(id);
  }
  pairRun();
  return pairs;
}
