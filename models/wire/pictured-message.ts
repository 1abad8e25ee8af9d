import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { Picture } from "../../turn/picture.ts";

/** The tokens of a message's pictures, as its model counts them. */
const tokensOf = new WeakMap<BaseMessage, number>();

/** A user's message with pictures of so many `tokens`. */
export function picturedMessage(
  text: string,
  pictures: readonly Picture[],
  { id, tokens }: { id?: string | undefined; tokens: number },
): BaseMessage {
  const parts = pictures.map(({ url, detail }) => ({
    type: "image_url" as const,
    image_url: detail === null ? { url } : { url, detail },
  }));
  const content = [...(text === "" ? [] : [{ type: "text" as const, text }]), ...parts];
  const message = new HumanMessage({ ...(id === undefined ? {} : { id }), content });
  tokensOf.set(message, tokens);
  return message;
}

export const pictureTokensIn = (messages: readonly BaseMessage[]): number =>
  messages.reduce((sum, message) => sum + (tokensOf.get(message) ?? 0), 0);

export const hasPictures = (messages: readonly BaseMessage[]): boolean => messages.some((message) => tokensOf.has(message));

/** The same messages in words alone. */
export function withoutPictures(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.map((message) =>
    tokensOf.has(message) ? new HumanMessage({ ...(message.id === undefined ? {} : { id: message.id }), content: message.text }) : message,
  );
}
