import { afterEach, beforeEach, expect } from "@jest/globals";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { en } from "../../web/texts/en.ts";
import { enViews } from "../../web/texts/views/en-views.ts";
import { openBrowser, whyNoBrowser } from "../servers/browser.ts";
import { startModelServer, type ModelServer } from "../servers/model-server.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { conversationApi } from "../support/services/service-with-episodes.ts";
import { describeUnless } from "../support/describe-unless.ts";
import { useOpened } from "../support/use-opened.ts";

/** The browser shares its machine with everything else that is tested. */
const PATIENCE_MS = 120_000;
const missing = await whyNoBrowser();

/** The page's texts in English. */
export const texts = { ...en, ...enViews };

/** The tokens "w0 ", "w1 ", … of an answer. */
export const words = (letter: string, count: number): string[] => Array.from({ length: count }, (_, index) => `${letter}${index} `);

/** A service with a page. */
export interface PageService {
  url: string;
  /** Which names lead where in the browser: see `openBrowser`. */
  hostRules?: string;
  close(): Promise<unknown>;
}

/** Starts a service process with a database of its own, the offline model and all layers of memory unless `environment` differs. */
export async function startOfflineService(environment: Record<string, string> = {}): Promise<PageService & { databaseUrl: string }> {
  const database = await createRealDatabase();
  const layers = { ENABLE_EPISODIC_MEMORY: "true", ENABLE_CORE_MEMORY: "true", MEMORY_READ_TIMEOUT_MS: "10000" };
  const { url } = await startServiceProcess({ DATABASE_URL: database.url, ...layers, ...environment });
  return { url, databaseUrl: database.url, close: () => killServiceProcesses().then(database.drop) };
}

/** Starts a service process whose model answers what it is told. Without the layers of memory unless `environment` switches them on. */
export async function startModelService(environment: Record<string, string> = {}): Promise<PageService & { model: ModelServer }> {
  const model = await startModelServer();
  const layers = { ENABLE_EPISODIC_MEMORY: "false", ENABLE_CORE_MEMORY: "false", ENABLE_SUMMARY: "false" };
  const { url } = await startOfflineService({ OPENAI_BASE_URL: model.url, CHAT_MODEL: "test-chat", ...layers, ...environment });
  return { url, model, close: () => killServiceProcesses().then(() => model.close()) };
}

/** Says a message over the API and waits for what memory makes of it. Resolves with the id of the conversation. */
export async function sayAndSettle(url: string, userId: string, message: string, sessionId = "s"): Promise<string> {
  const { say, settle } = conversationApi(url);
  const { conversation_id } = await say(userId, message, sessionId);
  await settle(conversation_id);
  return conversation_id;
}

export type TestedPage = Awaited<ReturnType<typeof openTestedPage>>;

export interface TestedPageOptions extends BrowserContextOptions {
  /** Who talks; null leaves the page's first question open. */
  user?: string | null;
  /** Statuses of refusals that the test brings about: the browser writes each to the console. */
  refusals?: readonly number[];
  /** The test takes the service away: the browser writes that to the console, too. */
  losesConnection?: boolean;
  /** The path of the page, with its hash. */
  at?: string;
  /** Another service's address. */
  url?: string;
}

const NO_ANSWER = /^Failed to load resource: net::ERR_/;
const REFUSAL = /^Failed to load resource: the server responded with a status of (\d{3})/;

/** Opens the page of a service as somebody sees it, in a context of its own: nothing is kept from other tests. */
async function openTestedPage(
  browser: Browser,
  { url, user, refusals = [], losesConnection = false, at = "/", ...options }: TestedPageOptions & { url: string; user: string | null },
) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 850 }, locale: "en-GB", ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    const status = REFUSAL.exec(message.text())?.[1];
    if (status !== undefined && refusals.includes(Number(status))) return;
    if (losesConnection && NO_ANSWER.test(message.text())) return;
    if (["error", "warning"].includes(message.type())) problems.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    const isOwn = [url, `blob:${url}`, "data:"].some((beginning) => request.url().startsWith(beginning));
    if (!isOwn) problems.push(`request to ${request.url()}`);
  });
  if (user !== null) await page.addInitScript(`localStorage.setItem("conversation-graph.user", ${JSON.stringify(user)})`);
  await page.goto(url + at);
  const answer = page.locator("article.from-assistant").last();
  return {
    page,
    /** Errors and warnings of the console, exceptions, and requests to other places. Refusals with an expected status are left out. */
    problems,
    /** The article of the newest answer. */
    answer,
    async say(message: string): Promise<void> {
      await page.locator("#message").fill(message);
      await page.locator("#message").press("Enter");
      const asked = page.locator("article.from-user", { hasText: message.slice(0, 40) });
      await asked.last().waitFor();
    },
    /** Waits until no answer is under way. */
    async settled(): Promise<void> {
      await page.locator("article.from-assistant[aria-busy=false]").last().waitFor();
      await page.locator("button.stop").waitFor({ state: "detached" });
    },
    /** Opens a source of the newest answer, and waits for the passage with these words beside it. */
    async openSource(label: string, title: string, words: string): Promise<void> {
      await answer.locator("details", { hasText: label }).locator("summary").click();
      await answer.locator("button.source", { hasText: title }).first().click();
      await page.locator(".cited blockquote", { hasText: words }).waitFor();
    },
    /** Clicks the button of this name, in `within` or anywhere. */
    press: (name: string | RegExp, within: Locator | Page = page) => within.getByRole("button", { name }).click(),
    /** Opens the conversation of this name from the list. */
    follow: (name: RegExp) => page.getByRole("link", { name }).click(),
    close: () => context.close(),
  };
}

/** What tests of the page work with. */
export interface PageTests {
  browser: Browser;
  /** Another user for each test. */
  user: string;
  /** Opens the page as `user`. After the test it is closed, and nothing may have gone wrong in it. */
  open(options?: TestedPageOptions): Promise<TestedPage>;
}

/** Tests of a service's page in a browser; skipped, with the reason, where there is none. */
export function describePage<Service extends PageService>(
  title: string,
  start: () => Promise<Service>,
  define: (on: Service & PageTests) => void,
): void {
  describeUnless(missing, title, () => {
    let pages: TestedPage[] = [];
    let users = 0;
    const on = useOpened(async (): Promise<Service & PageTests> => {
      const service = await start();
      const browser = await openBrowser(service.hostRules);
      const open: PageTests["open"] = async (options) => {
        const page = await openTestedPage(browser, { url: on.url, user: on.user, ...options });
        pages.push(page);
        return page;
      };
      return { ...service, browser, user: "", open, close: () => browser.close().finally(() => service.close()) };
    });
    beforeEach(() => void (on.user = `user-${++users}`));
    afterEach(async () => {
      const opened = pages;
      pages = [];
      await Promise.all(opened.map((page) => page.close()));
      expect(opened.flatMap(({ problems }) => problems)).toEqual([]);
    });
    define(on);
  });
}
