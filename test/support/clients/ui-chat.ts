import { DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";

export const transportTo = (url: string, body: object = { user_id: "ada" }, headers: Record<string, string> = {}) =>
  new DefaultChatTransport<UIMessage>({ api: `${url}/api/v1/chat/ui-messages`, body, headers });
let chats = 0;
export const said = (text: string): UIMessage => ({ id: `u-${chats}-${text}`, role: "user", parts: [{ type: "text", text }] });

/** A chat as `useChat` has it: the AI SDK's own transport and its own reading of the stream. */
export function makeUiChat(url: string, body: object = {}) {
  const chatId = `chat-${chats++}`;
  const transport = transportTo(url, { user_id: "ada", ...body });
  const messages: UIMessage[] = [];
  async function send(
    trigger: "submit-message" | "regenerate-message" = "submit-message",
    { signal, messageId }: { signal?: AbortSignal | undefined; messageId?: string | undefined } = {},
  ): Promise<UIMessage> {
    const stream = await transport.sendMessages({ chatId, messages, trigger, messageId, abortSignal: signal });
    const last = messages.at(-1);
    let answer: UIMessage | undefined;
    const states = readUIMessageStream({ stream, ...(last?.role === "assistant" ? { message: last } : {}), terminateOnError: true });
    for await (const state of states) answer = state;
    if (!answer) throw new Error("the stream had no message");
    if (last?.role === "assistant") messages.pop();
    messages.push(answer);
    return answer;
  }
  return {
    chatId,
    transport,
    messages,
    send,
    say(text: string, signal?: AbortSignal): Promise<UIMessage> {
      messages.push(said(text));
      return send("submit-message", { signal });
    },
    /** As `regenerate` of `useChat` does: the messages from there on are left out. */
    regenerate(messageId?: string): Promise<UIMessage> {
      const place = messageId === undefined ? messages.length - 1 : messages.findIndex(({ id }) => id === messageId);
      messages.splice(messages[place]?.role === "assistant" ? place : place + 1);
      return send("regenerate-message", { messageId });
    },
    /** As `sendMessage` of `useChat` does with the id of a message of the user. */
    edit(place: number, text: string): Promise<UIMessage> {
      const messageId = messages[place]?.id ?? "";
      messages.splice(place, Infinity, { ...said(text), id: messageId });
      return send("submit-message", { messageId });
    },
  };
}

export const textOf = ({ parts }: UIMessage): string => parts.map((part) => (part.type === "text" ? part.text : "")).join("");
