import type { WireMessage } from "../../../models/wire/wire-message.ts";

export type Messages = readonly WireMessage[];

/** Null: the messages are taken. Otherwise why they are refused, in the words of the server or template. */
export type Check = (messages: Messages) => string | null;

export const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
export const callsOf = ({ tool_calls = [] }: WireMessage) => tool_calls;
export const hasCalls = (message: WireMessage): boolean => callsOf(message).length > 0;
export const withoutSystem = (messages: Messages): Messages => (messages[0]?.role === "system" ? messages.slice(1) : messages);
export const isBlank = (text: string): boolean => text.trim() === "";

export function partsOf({ content }: WireMessage): { type?: unknown; text?: unknown }[] {
  if (content === null) return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : [...content];
}

export const isEmpty = ({ content }: WireMessage): boolean => (content?.length ?? 0) === 0;
export const isPicture = ({ type }: { type?: unknown }): boolean => type === "image_url" || type === "image";

/** The first refusal of several checks. */
export const all =
  (...checks: Check[]): Check =>
  (messages) => {
    for (const check of checks) {
      const refusal = check(messages);
      if (refusal !== null) return refusal;
    }
    return null;
  };

/** Refuses the first message of which `why` says something. */
export const each =
  (why: (message: WireMessage, index: number, messages: Messages) => string | null): Check =>
  (messages) =>
    all(...messages.map((message, index) => () => why(message, index, messages)))(messages);

export const only = (...roles: WireMessage["role"][]): Check =>
  each(({ role }) => (roles.includes(role) ? null : `role ${role} is not supported`));

/** Templates in Jinja join texts by `+`, which fails for null and for lists. */
export const stringsOnly: Check = each(({ content }, index) =>
  typeof content === "string" ? null : `messages[${index}]: expected a string`,
);

/** By position: user, assistant, user, … */
export const alternating: Check = each(({ role }, index) =>
  (role === "user") === (index % 2 === 0) ? null : "Conversation roles must alternate user/assistant/user/assistant/...",
);

export const besideTools = (messages: Messages): Messages => messages.filter((message) => message.role !== "tool" && !hasCalls(message));

/** Every call has one result, before anything else is said; no result is without a call. */
export function answered(messages: Messages): string | null {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id ?? ""))
        return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'";
    } else {
      if (open.size > 0) return `tool_call_ids did not have response messages: ${[...open].join(", ")}`;
      open = new Set(callsOf(message).map(({ id }) => id));
    }
  }
  return open.size > 0 ? `tool_call_ids did not have response messages: ${[...open].join(", ")}` : null;
}
