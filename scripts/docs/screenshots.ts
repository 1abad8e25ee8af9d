import { mkdir } from "node:fs/promises";
import { spawn } from "node:child_process";
import type { Browser, Page } from "playwright-core";
import { openBrowser, whyNoBrowser } from "../../test/servers/browser.ts";
import { startModelServer, type ChatRequestBody, type ModelScript } from "../../test/servers/model-server.ts";
import { freePort } from "../../test/servers/postgres-server.ts";

// Pictures of the page for the README: `npm run screenshots` writes docs/screenshots/*.png. The service is a real one, its model is
// scripted.

const TO = "docs/screenshots";
const USER = "ada";

const ANSWERS: Record<string, string> = {
  "I moved from Lisbon to Porto last week. I still do not eat meat.":
    "Congratulations on the move! I have noted **Porto**, and that you do not eat meat.",
  "Can you suggest a film like the one about the lighthouse?":
    "The one about the lighthouse keeper on the Azores? Then try *The Salt Road*: the same director, and just as quiet.\n\nTwo more in that spirit:\n\n1. *Slow Tide*, for its long evenings\n2. *The Ferryman’s Winter*, if you liked the ending",
  "Where should I eat on Saturday, and can I take the bicycle on the train?":
    "Near **São Bento** there is *Raiz*, which cooks without meat and is open on Saturday evening.\n\nBicycles travel free on regional trains; on intercity trains they need a reservation [1].\n\n| train | bicycle |\n| --- | --- |\n| regional | free |\n| intercity | 5 €, reserve a day before |\n\n```text\n18:40  Porto São Bento → Braga\n```",
};

const lastMessage = ({ messages }: ChatRequestBody): string => messages.at(-1)?.content ?? "";

function answer(body: ChatRequestBody): ModelScript {
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
  if (lastMessage(body).includes("buy the tickets")) {
    const options = [
      { label: "The 18:40", description: "regional, bicycles travel free", is_recommended: true },
      { label: "The 19:15", description: "intercity, 5 € for a bicycle" },
    ];
    return { toolCalls: [{ name: "ask_decision", arguments: { decision_type: "branch", context: "Which train shall I book?", options } }] };
  }
  // The last message of a prompt may begin with what was recalled: the question stands at its end.
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

async function openService(modelUrl: string): Promise<Opened> {
  const port = String(await freePort());
  const child = spawn(process.execPath, ["server/main.ts"], {
    env: {
      PATH: process.env["PATH"],
      PORT: port,
      DATA_DIR: "memory://",
      OPENAI_BASE_URL: modelUrl,
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
    },
    stdio: "ignore",
  });
  const url = `http://127.0.0.1:${port}`;
  const isUp = (): Promise<boolean> => fetch(`${url}/healthz`).then(() => true, () => false); // prettier-ignore
  while (!(await isUp())) await new Promise((resolve) => setTimeout(resolve, 200));
  return { url, close: () => child.kill() };
}

/** What happened before the pictures: other conversations, a knowledge base, and what memory made of them. */
async function talkBefore(url: string): Promise<string> {
  const send = async (path: string, body: object, method = "POST"): Promise<{ conversation_id?: string }> => {
    const request = { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const response = await fetch(`${url}/api/v1${path}`, request);
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as { conversation_id?: string };
  };
  const say = async (session: string, message: string): Promise<string> => {
    const { conversation_id: id = "" } = await send("/chat", { user_id: USER, session_id: session, message });
    await send(`/conversations/${id}/settle?timeout_ms=60000`, {});
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
  await send("/agents/traveller", { description: "Books tickets", tools: ["ask_decision"], keywords: ["tickets"] }, "PUT");
  await say("films", "My favourite film is the one about the lighthouse keeper on the Azores.");
  await say("garden", "The tomatoes on my balcony want more sun than they get.");
  await say("today", "I moved from Lisbon to Porto last week. I still do not eat meat.");
  await send(`/users/${USER}/core-memory/preferences`, { content: "Quiet films by the sea.\nTrains rather than cars." }, "PUT");
  await send(`/users/${USER}/core-memory/profile`, { content: "Name: Ada.\nLives in Porto since November 2026.\nEats no meat." }, "PUT");
  return say("today", "Can you suggest a film like the one about the lighthouse?");
}

async function open(browser: Browser, url: string, options: Parameters<Browser["newPage"]>[0]): Promise<Page> {
  const page = await browser.newPage({ locale: "en-GB", viewport: { width: 1440, height: 900 }, ...options });
  await page.addInitScript(`localStorage.setItem("conversation-graph.user", ${JSON.stringify(USER)})`);
  await page.goto(url);
  return page;
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(700);
  await page.screenshot({ path: `${TO}/${name}.png` });
}

async function takeAll(browser: Browser, url: string, conversation: string): Promise<void> {
  const light = await open(browser, `${url}/#/chat/${conversation}`, { colorScheme: "light" });
  await light.locator("article").last().waitFor();
  await light.locator("#message").fill("Where should I eat on Saturday, and can I take the bicycle on the train?");
  await light.locator("#message").press("Enter");
  await light.locator("article.from-assistant[aria-busy=false] table").waitFor();
  await light.waitForTimeout(3_000);
  await light.keyboard.press("Alt+i");
  await light.locator(".timeline").waitFor();
  await shoot(light, "chat-light");
  await light.keyboard.press("Escape");
  await light.locator("button.cite").first().click();
  await light.locator(".cited blockquote").waitFor();
  await shoot(light, "citation-light");
  await light.goto(`${url}/#/memory/core`);
  await light.locator("[data-section=profile]").waitFor();
  await light.getByRole("button", { name: "History: Profile" }).click();
  await shoot(light, "memory-light");
  await light.goto(`${url}/#/documents/trains`);
  await light.locator("[data-document]").waitFor();
  await light.getByLabel("A question, as in chat").fill("May I take a bicycle?");
  await light.keyboard.press("Enter");
  await light.locator("[data-passage]").first().waitFor();
  await shoot(light, "documents-light");
  await light.close();

  const dark = await open(browser, `${url}/#/chat/${conversation}`, { colorScheme: "dark" });
  await dark.locator("article table").waitFor();
  await dark.locator("article.from-assistant").nth(1).getByRole("button", { name: "Details" }).click();
  await dark.locator(".inspector .card").first().waitFor();
  await shoot(dark, "chat-dark");
  await dark.getByRole("button", { name: "Answer again" }).last().click();
  await dark.locator("article.from-assistant[aria-busy=false] .versions").waitFor();
  await dark.getByRole("button", { name: "Branches" }).click();
  await dark.getByLabel("Name of the snapshot").fill("Before the trip");
  await dark.keyboard.press("Enter");
  await dark.locator(".snapshots li").waitFor();
  await shoot(dark, "branches-dark");
  await dark.goto(`${url}/#/service`);
  await dark.locator(".plot .plot-bar").first().waitFor();
  await shoot(dark, "service-dark");
  await dark.close();

  const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
  const small = await open(browser, `${url}/#/chat/${conversation}`, phone);
  await small.locator("article table").waitFor();
  await shoot(small, "chat-phone");
  await small.getByRole("button", { name: "Details" }).last().tap();
  await small.locator(".timeline").waitFor();
  await shoot(small, "inspector-phone");
  await small.keyboard.press("Escape");
  await small.locator("#message").fill("Please buy the tickets");
  await small.locator("#message").press("Enter");
  await small.locator(".question-card").waitFor();
  await shoot(small, "question-phone");
  await small.close();
}

const missing = await whyNoBrowser();
if (missing) throw new Error(`no pictures without a browser: ${missing}. Install chromium or set CHROMIUM_PATH.`);
await mkdir(TO, { recursive: true });
const model = await startModelServer({ keepSeen: false });
model.answer(answer);
const service = await openService(model.url);
const browser = await openBrowser();
try {
  const conversation = await talkBefore(service.url);
  await takeAll(browser, service.url, conversation);
} finally {
  await browser.close();
  service.close();
  await model.close();
}
