// A page with one hook of React at a time: its messages as a list, and what a person can do as `window.talk`.
import { useChat } from "@ai-sdk/react";
import { Client, type StreamMode } from "@langchain/langgraph-sdk";
import { useStream } from "@langchain/langgraph-sdk/react";
import { useStream as useLangChainStream } from "@langchain/react";
import { DefaultChatTransport, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { createElement as h, type ReactElement, useEffect, useState } from "react";
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
  notices?: string;
  talk: Talk;
}

const { origin, searchParams } = new URL(location.href);
const agent = searchParams.get("agent") ?? "assistant";
const chatId = searchParams.get("chat") ?? "chat";

function Chat({ lines, status, asks, notices = "", talk }: Shown): ReactElement {
  useEffect(() => void (window.talk = talk));
  const items = lines.map((line, place) => h("li", { key: place }, line));
  const said = { asks, notices, status };
  return h("main", null, h("ul", null, items), ...Object.entries(said).map(([id, words]) => h("p", { id, key: id }, words)));
}

interface Asked {
  question: string;
}

interface Said {
  id?: string | undefined;
  type: string;
  content: unknown;
  tool_calls?: { name: string; args: unknown }[] | undefined;
}

function lineOf({ type, content, tool_calls: calls = [] }: Said): string {
  const words = typeof content === "string" ? content : JSON.stringify(content);
  return `${type}: ${words}${calls.map(({ name, args }) => `${name}(${JSON.stringify(args)})`).join(" ")}`;
}

function statusOf({ error, isLoading }: { error: unknown; isLoading: boolean }): string {
  if (error !== undefined && error !== null) return `error: ${error instanceof Error ? String(error) : JSON.stringify(error)}`;
  return isLoading ? "busy" : "ready";
}

function LangGraphChat(): ReactElement {
  const [notices, setNotices] = useState("");
  const stream = useStream<{ messages: Said[] }, { InterruptType: Asked }>({
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
    onCustomEvent(event) {
      const { status, content } = event as { status: string; content: { code: string } };
      if (status === "notice") setNotices(content.code);
    },
    onUpdateEvent: () => undefined,
  });
  const { messages } = stream;
  const metadataAt = (place: number) => {
    const message = messages[place];
    return message && stream.getMessagesMetadata(message, place);
  };
  const placeBefore = (place: number) => ({ checkpoint: metadataAt(place)?.firstSeenState?.parent_checkpoint ?? null });
  const talk: Talk = {
    say: (text, modes) => stream.submit({ messages: [{ type: "human", content: text }] }, modes && { streamMode: modes as StreamMode[] }),
    answer: (isAllowed) => stream.submit(undefined, { command: { resume: isAllowed } }),
    stop: () => stream.stop(),
    again: () => stream.submit(undefined, placeBefore(messages.length - 1)),
    edit: (place, text) => stream.submit({ messages: [{ type: "human", content: text }] }, placeBefore(place)),
    turn(place) {
      const { branch = "", branchOptions = [] } = metadataAt(place) ?? {};
      stream.setBranch(branchOptions[(branchOptions.indexOf(branch) + 1) % branchOptions.length] ?? "");
    },
  };
  const lines = messages.map((message, place) => {
    const { branch = "", branchOptions = [] } = metadataAt(place) ?? {};
    return lineOf(message) + (branchOptions.length > 0 ? ` (${branchOptions.indexOf(branch) + 1} of ${branchOptions.length})` : "");
  });
  return h(Chat, { lines, status: statusOf(stream), asks: stream.interrupt?.value?.question ?? "", notices, talk });
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
