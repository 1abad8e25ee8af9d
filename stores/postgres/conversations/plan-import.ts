import { v7 as uuidv7 } from "uuid";
import type { Queryable } from "../database/database.ts";
import { isLiveSql } from "./exchanges.ts";
import type { Role } from "./message-store.ts";
import type { OwnedConversation } from "../../owner.ts";

/** A message to import; without `createdAt` it counts as said now. The same `metadata.external_id` is imported once. */
export interface MessageToImport {
  role: Role;
  content: string;
  createdAt: Date | null;
  metadata: Record<string, unknown>;
}

/** A message as it will be stored. */
export interface NewMessage extends MessageToImport {
  id: string;
  createdAt: Date;
  /** Its place among the imported messages of the conversation, from 1. */
  number: number;
  partnerId: string | null;
  /** It completes an exchange. */
  endsExchange: boolean;
}

/** What an import will write. */
interface ImportPlan {
  /** In order. */
  messages: NewMessage[];
  /** Stored messages that get a partner. */
  joined: { id: string; partnerId: string; createdAt: Date }[];
}

/** The conversation to import into. */
export interface ConversationToFill {
  createdAt: Date;
  /** Messages imported so far. */
  importedCount: number;
  /** The time of messages without one. */
  now: Date;
}

/** Stored messages this near, in messages, may be partners of new ones. */
const NEIGHBOURS = 100;

const KNOWN_IDS = `
select metadata->>'external_id' as external_id from messages
where conversation_id = $1 and metadata ? 'external_id' and metadata->>'external_id' = any($2)`;

const NEAR = `
select id, role, created_at, not ${isLiveSql("messages")} and partner_id is null as is_free from messages
where conversation_id = $1 and completed
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

/** By time; messages without one come last, a millisecond apart. */
function sortByTime(messages: readonly MessageToImport[], now: Date): (MessageToImport & { createdAt: Date })[] {
  let last = now.getTime();
  return messages
    .map((message) => ({ ...message, createdAt: message.createdAt ?? new Date(++last) }))
    .sort((one, other) => one.createdAt.getTime() - other.createdAt.getTime());
}

interface Place {
  id: string;
  createdAt: Date;
}

const compareByPlace = (one: Place, other: Place): number =>
  one.createdAt.getTime() - other.createdAt.getTime() || (one.id < other.id ? -1 : 1);

/**
 * Decides which messages are new and pairs them, in a conversation that is locked. Stored pairs stay. Ids rise with a message's place,
 * whatever the clock: of the same time, later imports sort behind earlier ones.
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
  const rows = await transaction.query<{ id: string; role: Role; created_at: Date; is_free: boolean }>({
    name: "import-near",
    text: NEAR,
    values: [conversationId, first.createdAt, last.createdAt],
  });
  const near = rows.map(({ id, role, created_at, is_free }) => ({ id, role, createdAt: created_at, isFree: is_free }));
  const ordered: (OrderedMessage & Place)[] = [...near, ...added.map((message) => ({ ...message, isFree: true }))].sort(compareByPlace);
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

/** A message in the order of its conversation. */
interface OrderedMessage {
  id: string;
  role: Role;
  /** Imported, and without a partner. */
  isFree: boolean;
}

type Pair = readonly [questionId: string, answerId: string];

/**
 * Pairs messages by order: a run of questions with the run of answers behind it, one by one, as times may cross. Of too many questions the
 * last are answered; of too many answers the first are used. A message that is not free ends a run.
 */
export function pairByOrder(messages: readonly OrderedMessage[]): Pair[] {
  const pairs: Pair[] = [];
  let questions: string[] = [];
  let answers: string[] = [];
  function pairRun(): void {
    const count = Math.min(questions.length, answers.length);
    const answered = questions.slice(questions.length - count);
    answered.forEach((questionId, index) => pairs.push([questionId, answers[index] ?? ""]));
    [questions, answers] = [[], []];
  }
  for (const { id, role, isFree } of messages) {
    if (!isFree || (role === "user" && answers.length > 0)) pairRun();
    if (isFree) (role === "user" ? questions : answers).push(id);
  }
  pairRun();
  return pairs;
}
