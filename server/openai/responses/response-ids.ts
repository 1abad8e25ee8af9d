import { validate as isUuid } from "uuid";

/** Prefixes of ids. A UUID of the service follows, so that no id is ever another. */
type Prefix = "resp" | "msg" | "rs" | "fc" | "conv";

const FORM = /^([a-z]+)_([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})(?:_(\d{1,4}))?$/;

const toId = (prefix: Prefix, uuid: string): string => `${prefix}_${uuid.replaceAll("-", "")}`;

/** A response is a turn, or a leg of it: a turn that waits for its caller's results goes on as another response. Legs count from 1. */
export interface ResponseName {
  turnId: string;
  leg: number;
}

const ofLeg = (prefix: Prefix, { turnId, leg }: ResponseName): string => toId(prefix, turnId) + (leg > 1 ? `_${leg}` : "");

export const responseId = (name: ResponseName): string => ofLeg("resp", name);
export const messageItemId = (messageId: string): string => toId("msg", messageId);
/** The answer's message has the turn's id. */
export const answerItemId = (name: ResponseName): string => ofLeg("msg", name);
const MOST_OF_A_LEG = 100;
/** `number`: from 1, since a model may think more than once. */
export const reasoningId = ({ turnId, leg }: ResponseName, number: number): string =>
  `${toId("rs", turnId)}_${(leg - 1) * MOST_OF_A_LEG + number}`;
/** `number`: from 1. */
export const callItemId = ({ turnId, leg }: ResponseName, number: number): string =>
  `${toId("fc", turnId)}_${(leg - 1) * MOST_OF_A_LEG + number}`;
export const conversationItemId = (conversationId: string): string => toId("conv", conversationId);

/** The UUID in an id with one of these prefixes, or null. */
export function uuidIn(id: unknown, prefixes: readonly Prefix[]): string | null {
  if (typeof id !== "string") return null;
  const [, prefix, ...parts] = FORM.exec(id) ?? [];
  const uuid = parts.slice(0, 5).join("-");
  return prefixes.some((one) => one === prefix) && isUuid(uuid) ? uuid : null;
}

/** The turn and leg in a response's id, or null. */
export function readResponseId(id: string): ResponseName | null {
  const turnId = uuidIn(id, ["resp"]);
  return turnId === null ? null : { turnId, leg: Number(FORM.exec(id)?.[7] ?? 1) };
}

/** Seconds since 1970 in a UUID of version 7. */
export const secondsIn = (uuid: string): number => Math.floor(parseInt(uuid.replaceAll("-", "").slice(0, 12), 16) / 1_000);
