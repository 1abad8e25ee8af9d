import { spawn } from "node:child_process";
import type { ChatRequestBody, ModelScript } from "../../test/servers/model-server.ts";
import { freePort } from "../../test/servers/free-port.ts";

/** Whose page it is. */
export const USER = "ada";

const ANSWERS: Record<string, string> = {
  "I moved from Lisbon to Porto last week. I still do not eat meat.":
    "Congratulations on the move! I have noted **Porto**, and that you do not eat meat.",
  "Can you suggest a film like the one about the lighthouse?":
    "The one about the lighthouse keeper on the Azores? Then try *The Salt Road*: the same director, and just as quiet.\n\nTwo more in that spirit:\n\n1. *Slow Tide*, for its long evenings\n2. *The Ferryman’s Winter*, if you liked the ending",
  "Where should I eat on Saturday, and can I take the bicycle on the train?":
    "Near **São Bento** there is *Raiz*, which cooks without meat and is open on Saturday evening.\n\nBicycles travel free on regional trains; on intercity trains they need a reservation [1].\n\n| train | bicycle |\n| --- | --- |\n| regional | free |\n| intercity | 5 €, reserve a day before |\n\n```text\n18:40  Porto São Bento → Braga\n```",
};

const lastMessage = ({ messages }: ChatRequestBody): string => messages.at(-1)?.content ?? "";

export function answer(body: ChatRequestBody): ModelScript {
  if (body.model === "summary")
    return { tokens: ["Ada moved from Lisbon to Porto and eats no meat. She asked for quiet films by the sea."] };
  if (body.model === "router") return { tokens: ['{"kb_prefix":"general","confidence":0.9,"reason":"no documents are needed"}'] };
  if (body.model === "memory") {
    const isFirst = body.messages.every(({ role }) => role !== "tool") && JSON.stringify(body.messages).includes("moved from Lisbon");
    const update = {
      section: "profile",
      content: "Name: Ada.\nLives in Porto, moved there from Lisbon.\nEats no meat.",
      reason: "Ada said that she moved.",
    };
    return isFirst ? { toolCalls: [{ name: "core_memory_update", arguments: update }] } : { tokens: ["Nothing to do."] };
  }
  // Recalled text before the question can name tickets as well: only an agent with the tool calls it.
  const hasTool = (name: string): boolean => body.tools?.some((tool) => tool.function.name === name) ?? false;
  if (hasTool("ask_decision") && lastMessage(body).includes("buy the tickets")) {
    const options = [
      { label: "The 18:40", description: "regional, bicycles travel free", is_recommended: true },
      { label: "The 19:15", description: "intercity, 5 € for a bicycle" },
    ];
    // It outlasts all pictures.
    const decision = { decision_type: "branch", context: "Which train shall I book?", options, timeout_seconds: 3_600 };
    return { toolCalls: [{ name: "ask_decision", arguments: decision }] };
  }
  if (body.messages.at(-1)?.role === "tool") return { tokens: ["Four tickets cost ", "**21.60 €**."] };
  if (hasTool("calculate") && lastMessage(body).includes("four tickets"))
    return { toolCalls: [{ name: "calculate", arguments: { expression: "4 * 5.40" } }] };
  // The last message may begin with recalled text: the question is its end.
  const [question = ""] = Object.keys(ANSWERS).toSorted(
    (one, other) => lastMessage(body).lastIndexOf(other) - lastMessage(body).lastIndexOf(one),
  );
  const known = lastMessage(body).includes(question) ? ANSWERS[question] : undefined;
  return { tokens: (known ?? "Noted.").match(/(?<!\s)\s*\S{1,6}/g) ?? [], firstTokenMs: 180, betweenMs: 12, withoutUsage: true };
}

interface Opened {
  url: string;
  close: () => void;
}

export const withModel = (url: string): Record<string, string> => ({
  OPENAI_BASE_URL: url,
  CHAT_MODEL: "chat",
  SUMMARY_MODEL: "summary",
  MEMORY_MODEL: "memory",
  ROUTER_MODEL: "router",
  EMBEDDING_MODEL: "built-in",
  HISTORY_WINDOW: "2",
  SUMMARY_MIN_MESSAGES: "4",
  SUMMARY_UPDATE_DELTA: "2",
  MEMORY_READ_TIMEOUT_MS: "5000",
  RATE_LIMIT_PER_MINUTE: "0",
});

export async function openService(settings: Record<string, string>): Promise<Opened> {
  const port = String(await freePort());
  const child = spawn(process.execPath, ["server/main.ts"], {
    env: { PATH: process.env["PATH"], PORT: port, DATA_DIR: "memory://", ...settings },
    stdio: "ignore",
  });
  const url = `http://127.0.0.1:${port}`;
  const isUp = (): Promise<boolean> => fetch(`${url}/healthz`).then(() => true, () => false); // prettier-ignore
  while (!(await isUp())) await new Promise((resolve) => setTimeout(resolve, 200));
  return { url, close: () => child.kill() };
}

export interface Talked {
  conversation: string;
  asking: string;
  calculated: string;
}

interface Answered {
  conversation_id?: string;
  turn_id?: string;
  question?: { id: string };
}

/** What happened before the pictures: other conversations, a knowledge base, and memory of them. */
export async function talkBefore(url: string): Promise<Talked> {
  const send = async (path: string, body: object, method = "POST"): Promise<Answered> => {
    const request = { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const response = await fetch(`${url}/api/v1${path}`, request);
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Answered;
  };
  const settled = (id: string): Promise<Answered> => send(`/conversations/${id}/settle?timeout_ms=60000`, {});
  const say = async (session: string, message: string): Promise<string> => {
    const { conversation_id: id = "" } = await send("/chat", { user_id: USER, session_id: session, message });
    await settled(id);
    return id;
  };
  await send(
    "/knowledge/trains",
    { description: "Trains in Portugal: tickets, bicycles, timetables", keywords: ["train", "bicycle"] },
    "PUT",
  );
  await send("/knowledge/trains/documents", {
    title: "Bicycles on trains",
    text: "# Bicycles on trains\n\nBicycles travel free on regional trains. On intercity trains they need a reservation and cost 5 €.",
  });
  await send("/knowledge/trains/documents", {
    title: "Tickets",
    text: "# Tickets\n\nA ticket for a regional train is bought at the station. A place for a bicycle on an intercity train is booked with the ticket.",
  });
  await send("/agents/traveller", { description: "Books tickets", tools: ["ask_decision"], keywords: ["tickets"] }, "PUT");
  const adding = { description: "Adds up", tools: ["calculate"], permissions: [{ tool: "calculate", action: "ask" }] };
  await send("/agents/accountant", adding, "PUT");
  await say("films", "My favourite film is the one about the lighthouse keeper on the Azores.");
  await say("garden", "The tomatoes on my balcony want more sun than they get.");
  await say("today", "I moved from Lisbon to Porto last week. I still do not eat meat.");
  await send(`/users/${USER}/core-memory/preferences`, { content: "Quiet films by the sea.\nTrains rather than cars." }, "PUT");
  await send(`/users/${USER}/core-memory/profile`, { content: "Name: Ada.\nLives in Porto since November 2026.\nEats no meat." }, "PUT");
  const conversation = await say("today", "Can you suggest a film like the one about the lighthouse?");
  const { conversation_id: asking = "" } = await send("/chat", { user_id: USER, session_id: "tickets", message: "Please buy the tickets" });
  const waiting = await send("/chat", {
    user_id: USER,
    session_id: "sum",
    agent: "accountant",
    message: "What do four tickets at 5.40 € cost?",
  });
  const { conversation_id: calculated = "", turn_id: turn = "", question } = waiting;
  await send(`/turns/${turn}/answers`, { question_id: question?.id, answer: "allow_always" });
  await settled(calculated);
  return { conversation, asking, calculated };
}
