import type { Cursor } from "../../page.ts";
import type { Role } from "./message-store.ts";

/** A message of an exchange. */
export interface ExchangeMessage extends Cursor {
  content: string;
  /** Its place among all messages that were imported into the conversation; null: it came by a turn, or that is not known. */
  importNumber: number | null;
}

/** A completed message as whoever reads a conversation in order finds it. */
export interface ReadMessage extends ExchangeMessage {
  role: Role;
  /** It came by an import, not by a turn. */
  imported: boolean;
  /** It was read before an import made the reader go back. */
  isKnown: boolean;
  /** The question of an answer; of an imported question its answer. */
  partner: ExchangeMessage | null;
}

/** What was said together: a question with its answer, or a message without a partner. */
export type Exchange<Message> = { asked: Message; answer: Message | null } | { asked: null; answer: Message };

/** An exchange that was read from the messages of a conversation. */
export type ReadExchange = Exchange<ExchangeMessage> & {
  /** The message that tells of it: whoever has read that has read the exchange. */
  toldBy: ReadMessage;
};

/** The first message of an exchange; its id is that of the episode. */
export function firstMessageOf(exchange: ReadExchange): ExchangeMessage {
  return exchange.asked === null ? exchange.answer : exchange.asked;
}

const UUID = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";

/** Whether a message of a table or alias came by a turn and not by an import, whose metadata are the caller's. */
export const isLive = (messages: string): string => `(${messages}.import_number is null and ${messages}.metadata ? 'turn_id')`;

/** The id of the message's partner. A live question has none: its answer tells of the exchange, when there is one. */
const partnerOf = (messages: string): string => `case
    when not ${isLive(messages)} then ${messages}.partner_id
    when ${messages}.role = 'assistant' and ${messages}.metadata->>'turn_id' ~ '${UUID}'
      then (select question_id from turns where turns.id = (${messages}.metadata->>'turn_id')::uuid)
  end`;

/** Whether an exchange can begin with this message of a table or alias: with a live answer, an imported question, an imported answer to nothing. */
export const isExchangeAnchor = (messages: string): string =>
  `(${messages}.role = 'assistant' and (${isLive(messages)} or ${messages}.partner_id is null) or ${messages}.role = 'user' and not ${isLive(messages)})`;

/** The id of the exchange that a message tells of, see `isExchangeAnchor`. */
export const exchangeIdOf = (messages: string): string =>
  `case when ${messages}.role = 'user' then ${messages}.id else coalesce(${partnerOf(messages)}, ${messages}.id) end`;

/** The JSON array of `MessageRow` for a query of completed messages and whether they are known, in order. */
export const messageRows = (messages: string): string => `(
  select coalesce(json_agg(json_build_object('id', said.id, 'role', said.role, 'content', said.content, 'createdAt', said.created_at,
      'imported', not ${isLive("said")}, 'importNumber', said.import_number, 'isKnown', said.is_known,
      'partner', case when partner.id is not null then json_build_object('id', partner.id, 'content', partner.content,
        'createdAt', partner.created_at, 'importNumber', partner.import_number) end)
    order by said.created_at, said.id), '[]')
  from (${messages}) said
  left join messages partner on partner.completed and partner.id = ${partnerOf("said")})`;

type FromJson<Message extends Cursor> = Omit<Message, "createdAt"> & { createdAt: string };

/** As `messageRows` gives it. */
export type MessageRow = FromJson<Omit<ReadMessage, "partner">> & { partner: FromJson<ExchangeMessage> | null };

export function toReadMessage({ createdAt, partner, ...message }: MessageRow): ReadMessage {
  return {
    ...message,
    createdAt: new Date(createdAt),
    partner: partner && { ...partner, createdAt: new Date(partner.createdAt) },
  };
}

/**
 * The exchange that a message tells of. A live one is told by its answer: a question that waits, or whose answer was cut short, is none. An
 * imported one is told by its first message: what was said is complete.
 */
function toExchange(message: ReadMessage): ReadExchange | null {
  const { role, imported, partner } = message;
  if (role === "user") return imported ? { asked: message, answer: partner, toldBy: message } : null;
  if (!partner) return { asked: null, answer: message, toldBy: message };
  return imported ? null : { asked: partner, answer: message, toldBy: message };
}

/** What was said together, of messages that were read in order. */
export function toExchanges(messages: readonly ReadMessage[]): ReadExchange[] {
  return messages.map(toExchange).filter((exchange) => exchange !== null);
}
