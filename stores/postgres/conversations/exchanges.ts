import type { Cursor } from "../../page.ts";
import { wordsSql } from "./picture-store.ts";
import { saidBy } from "./said-by.ts";

type Role = "user" | "assistant";

export interface ExchangeMessage extends Cursor {
  /** The text, without thoughts. */
  content: string;
  /** Null: the first. */
  branchId: string | null;
  /** Its place among the imported messages; null for a turn, or when unknown. */
  importNumber: number | null;
}

export interface ReadMessage extends ExchangeMessage {
  role: Role;
  imported: boolean;
  /** It was read before an import moved the cursor back. */
  isKnown: boolean;
  /** A bound ended the answer. */
  isCut: boolean;
  /** The question of an answer, or the answer of an imported question. */
  partner: ExchangeMessage | null;
}

export type Exchange<Message> = { asked: Message; answer: Message | null } | { asked: null; answer: Message };

export type ReadExchange = Exchange<ExchangeMessage> & {
  anchor: ReadMessage;
};

/** The first message, whose id is the episode's. */
export function firstMessageOf(exchange: ReadExchange): ExchangeMessage {
  return exchange.asked === null ? exchange.answer : exchange.asked;
}

/** The episode's id: that of the first message, or of an answer on another branch than its question. */
export function episodeIdOf(exchange: ReadExchange): string {
  const { asked, answer, anchor } = exchange;
  const isAgain = asked !== null && answer !== null && !anchor.imported && answer.branchId !== asked.branchId;
  return isAgain ? answer.id : firstMessageOf(exchange).id;
}

const UUID = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";

/** SQL: whether the message is from a turn. An imported one may have any metadata. */
export const isLiveSql = (messages: string): string => `(${messages}.import_number is null and ${messages}.metadata ? 'turn_id')`;

/** SQL: the id of a message's partner. A live question has none: its answer is the anchor. */
export const partnerIdSql = (messages: string): string => `case
    when not ${isLiveSql(messages)} then ${messages}.partner_id
    when ${messages}.role = 'assistant' and ${messages}.metadata->>'turn_id' ~ '${UUID}'
      then (select question_id from turns where turns.id = (${messages}.metadata->>'turn_id')::uuid)
  end`;

/** SQL: whether the message is the anchor of an exchange: a live answer, an imported question, a lone imported answer. */
export const isAnchorSql = (messages: string): string =>
  `(${messages}.role = 'assistant' and (${isLiveSql(messages)} or ${messages}.partner_id is null) or ${messages}.role = 'user' and not ${isLiveSql(messages)})`;

/** SQL: whether the answer is on another branch than its question, which was answered again. */
export const isAgainSql = (messages: string): string => `(${messages}.branch_id is not null and ${isLiveSql(messages)} and exists (
  select from messages asked where asked.id = ${partnerIdSql(messages)} and asked.branch_id is distinct from ${messages}.branch_id))`;

/** SQL: the id of the exchange with this anchor: its first message's, or a repeated answer's. */
export const exchangeIdSql = (messages: string): string =>
  `case when ${messages}.role = 'user' or ${isAgainSql(messages)} then ${messages}.id else coalesce(${partnerIdSql(messages)}, ${messages}.id) end`;

/** SQL: a JSON array of `MessageRow` from a query of completed messages with `is_known`, in order. */
export const messageRowsSql = (messages: string): string => `(
  select coalesce(json_agg(json_build_object('id', said.id, 'role', said.role, 'content', ${wordsSql("said")}, 'createdAt', said.created_at,
      'branchId', said.branch_id, 'imported', not ${isLiveSql("said")}, 'importNumber', said.import_number, 'isKnown', said.is_known,
      'isCut', ${isLiveSql("said")} and said.metadata ? 'cut',
      'partner', case when partner.id is not null then json_build_object('id', partner.id, 'content', ${wordsSql("partner")},
        'createdAt', partner.created_at, 'branchId', partner.branch_id, 'importNumber', partner.import_number) end)
    order by said.created_at, said.id), '[]')
  from (${messages}) said
  left join messages partner on partner.completed and partner.id = ${partnerIdSql("said")})`;

type FromJson<Message extends Cursor> = Omit<Message, "createdAt"> & { createdAt: string };

export type MessageRow = FromJson<Omit<ReadMessage, "partner">> & { partner: FromJson<ExchangeMessage> | null };

export function toReadMessage({ createdAt, content, partner, ...message }: MessageRow): ReadMessage {
  const { role } = message;
  const other = role === "user" ? "assistant" : "user";
  return {
    ...message,
    content: saidBy(role, content),
    createdAt: new Date(createdAt),
    partner: partner && { ...partner, content: saidBy(other, partner.content), createdAt: new Date(partner.createdAt) },
  };
}

function toExchange(message: ReadMessage): ReadExchange | null {
  const { role, imported, partner } = message;
  if (role === "user") return imported ? { asked: message, answer: partner, anchor: message } : null;
  if (!partner) return { asked: null, answer: message, anchor: message };
  return imported ? null : { asked: partner, answer: message, anchor: message };
}

export function toExchanges(messages: readonly ReadMessage[]): ReadExchange[] {
  return messages.map(toExchange).filter((exchange) => exchange !== null);
}
