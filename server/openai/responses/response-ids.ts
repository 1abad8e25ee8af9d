import { validate as isUuid } from "uuid";

/** What OpenAI's clients know by an id. Behind the prefix stands a UUID of the service, so that no id is ever another. */
type Prefix = "resp" | "msg" | "rs" | "conv";

const FORM = /^([a-z]+)_([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})(?:_\d{1,4})?$/;

const toId = (prefix: Prefix, uuid: string): string => `${prefix}_${uuid.replaceAll("-", "")}`;

/** A response is a turn. */
export const responseId = (turnId: string): string => toId("resp", turnId);
/** The answer to a turn is a message of the turn's id. */
export const messageItemId = (messageId: string): string => toId("msg", messageId);
/** `number`: from 1, since a model may think more than once. */
export const reasoningId = (turnId: string, number: number): string => `${toId("rs", turnId)}_${number}`;
export const conversationItemId = (conversationId: string): string => toId("conv", conversationId);

/** The UUID in an id with one of these prefixes; null for any other text. */
export function uuidIn(id: unknown, prefixes: readonly Prefix[]): string | null {
  if (typeof id !== "string") return null;
  const [, prefix, ...parts] = FORM.exec(id) ?? [];
  const uuid = parts.join("-");
  return prefixes.some((one) => one === prefix) && isUuid(uuid) ? uuid : null;
}

/** Seconds since 1970, as a UUID of version 7 has them. Those of a turn never change. */
export const secondsIn = (uuid: string): number => Math.floor(parseInt(uuid.replaceAll("-", "").slice(0, 12), 16) / 1_000);
