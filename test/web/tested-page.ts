import { expect } from "@jest/globals";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { en } from "../../web/texts/en.ts";

/** The browser shares its machine with everything else that is tested. */
const PATIENCE_MS = 30_000;

/** The page as somebody sees it, and what went wrong in it. */
export interface TestedPage {
  page: Page;
  /** Errors and warnings of the console, exceptions, and requests to other places. Refusals with an expected status are left out. */
  problems: string[];
  /** The article of the newest answer. */
  answer: ReturnType<Page["locator"]>;
  say(message: string): Promise<void>;
  /** Waits until no answer is under way. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export interface TestedPageOptions extends BrowserContextOptions {
  /** Who talks; null leaves the page's first question open. */
  user?: string | null;
  /** Statuses of refusals that the test brings about: the browser writes each to the console. */
  refusals?: readonly number[];
  /** The test takes the service away: the browser writes that to the console, too. */
  losesConnection?: boolean;
  /** What follows the address of the service. */
  at?: string;
}

const NO_ANSWER = /^Failed to load resource: net::ERR_/;
const REFUSAL = /^Failed to load resource: the server responded with a status of (\d{3})/;

/** Opens the page of a service in a context of its own: nothing is kept from other tests. */
export async function openTestedPage(
  browser: Browser,
  url: string,
  { user = "ada", refusals = [], losesConnection = false, at = "/", ...options }: TestedPageOptions = {},
): Promise<TestedPage> {
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
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) problems.push(`request to ${request.url()}`);
  });
  if (user !== null) await page.addInitScript(`localStorage.setItem("conversation-graph.user", ${JSON.stringify(user)})`);
  await page.goto(url + at);
  const answers = page.locator("article.from-assistant");
  return {
    page,
    problems,
    answer: answers.last(),
    async say(message) {
      await page.locator("#message").fill(message);
      await page.locator("#message").press("Enter");
      await page
        .locator("article.from-user", { hasText: message.slice(0, 40) })
        .last()
        .waitFor();
    },
    async settled() {
      await page.locator("article.from-assistant[aria-busy=false]").last().waitFor();
      await page.locator("button.stop").waitFor({ state: "detached" });
    },
    close: () => context.close(),
  };
}

/** Closes the page; nothing may have gone wrong in it. */
export async function closeWithoutProblems(tested: TestedPage): Promise<void> {
  await tested.close();
  expect(tested.problems).toEqual([]);
}

/** The page's texts in English. */
export const texts = en;
