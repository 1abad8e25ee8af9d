// A page with one hook of React at a time: its messages as a list, and what a person can do as `window.talk`.
import { useChat } from "@ai-sdk/react";
import { Client } from "@langchain/langgraph-sdk";
import { useStream } from "@langchain/langgraph-sdk/react";
import { useStream as useLangChainStream } from "@langchain/react";
import { DefaultChatTransport, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { createElement as h, type ReactElement, useEffect } from "react";
import { createRoot } from "react-dom/client";
import type { Talk } from "../talk.ts";
import { makeAdapter } from "./langchain-react-adapter.ts";

declare global {
  interface Window {
    talk: Talk;
  }
}

interface Shown {
  lines: string[];
  status: string;
  asks: string;
  talk: Talk;
}

const { origin, searchParams } = new URL(location.href);
const agent = searchParams.get("agent") ?? "assistant";
const chatId = searchParams.get("chat") ?? "chat";

function Chat({ lines, status, asks, talk }: Shown): ReactElement {
  useEffect(() => void (window.talk = talk));
  const items = lines.map((line, place) => h("li", { key: place }, line));
  return h("main", null, h("ul", null, items), h("p", { id: "asks" }, asks), h("p", { id: "status" }, status));
}

interface Asked {
  question: string;
}

const lineOf = ({ type, content }: { type: string; content: unknown }): string =>
  `${type}: ${typeof content === "string" ? content : JSON.stringify(content)}`;

function statusOf({ error, isLoading }: { error: unknown; isLoading: boolean }): string {
  if (error !== undefined && error !== null) return `error: ${error instanceof Error ? String(error) : JSON.stringify(error)}`;
  return isLoading ? "busy" : "ready";
}

function LangGraphChat(): ReactElement {
  const stream = useStream<{ messages: { id?: string; type: string; content: unknown }[] }, { InterruptType: Asked }>({
    apiUrl: `${origin}/langgraph`,
    assistantId: agent,
    threadId: searchParams.get("thread"),
    onThreadId(id) {
      searchParams.set("thread", id);
      history.replaceState(null, "", `?${searchParams.toString()}`);
    },
    reconnectOnMount: true,
    fetchStateHistory: true,
    defaultHeaders: { "X-User-Id": "ada" },
    onCustomEvent: () => undefined,
    onUpdateEvent: () => undefined,
  });
  const talk: Talk = {
    say: (text) => stream.submit({ messages: [{ type: "human", content: text }] }),
    answer: (isAllowed) => stream.submit(undefined, { command: { resume: isAllowed } }),
    stop: () => stream.stop(),
    again: () => stream.submit(undefined, { checkpoint: null }),
  };
  return h(Chat, {
    lines: stream.messages.map(lineOf),
    status: statusOf(stream),
    asks: stream.interrupt?.value?.question ?? "",
    talk,
  });
}

const client = new Client({ apiUrl: `${origin}/langgraph`, defaultHeaders: { "X-User-Id": "ada" } });
const transport = makeAdapter(client, agent);

function LangChainChat(): ReactElement {
  const stream = useLangChainStream<{ messages: unknown[] }, Asked>({
    client: client as never, // the package brings an SDK of its own
    transport,
    threadId: searchParams.get("thread"),
  });
  useEffect(() => {
    if (stream.threadId === null) return;
    searchParams.set("thread", stream.threadId);
    history.replaceState(null, "", `?${searchParams.toString()}`);
  }, [stream.threadId]);
  const talk: Talk = {
    say: (text) => stream.submit({ messages: [{ type: "human", content: text }] }),
    answer: (isAllowed) => stream.respond(isAllowed),
    stop: () => stream.stop(),
    again: () => undefined,
  };
  return h(Chat, {
    lines: stream.messages.map(({ type, text }) => `${type}: ${text}`),
    status: statusOf(stream),
    asks: stream.interrupt?.value?.question ?? "",
    talk,
  });
}

/** The parts of a message, in the order in which they are shown. */
function linesOf({ role, parts }: UIMessage): string[] {
  return parts.flatMap((part) => {
    if (part.type === "text" || part.type === "reasoning") return [`${part.type === "text" ? role : part.type}: ${part.text}`];
    if (isToolUIPart(part)) return [`tool: ${part.state}`];
    return part.type === "source-document" ? [`source: ${part.title}`] : [];
  });
}

function UiMessagesChat(): ReactElement {
  const chat = useChat({
    id: chatId,
    transport: new DefaultChatTransport({
      api: `${origin}/api/v1/chat/ui-messages`,
      headers: { "X-User-Id": "ada" },
      body: { agent, on_disconnect: searchParams.get("on_disconnect") ?? "cancel", kb_prefix: searchParams.get("kb") },
    }),
    resume: searchParams.has("resume"),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const asked = chat.messages.at(-1)?.parts.find((part) => isToolUIPart(part) && part.state === "approval-requested");
  const approval = asked && "approval" in asked ? asked.approval : undefined;
  const talk: Talk = {
    say: (text) => chat.sendMessage({ text }),
    answer: (approved) => approval && chat.addToolApprovalResponse({ id: approval.id, approved }),
    stop: () => chat.stop(),
    again: () => chat.regenerate(),
  };
  return h(Chat, {
    lines: chat.messages.flatMap(linesOf),
    status: chat.error ? `error: ${chat.error.message}` : chat.status,
    asks: approval ? "approval" : "",
    talk,
  });
}

const hooks = { langgraph: LangGraphChat, langchain: LangChainChat, ai: UiMessagesChat };
const hook = hooks[(searchParams.get("hook") ?? "ai") as keyof typeof hooks];
createRoot(document.body).render(h(hook));
