import { fileURLToPath } from "node:url";
import { afterEach, expect } from "@jest/globals";
import { build } from "esbuild";
import { listMessages, messagesOf } from "../support/clients/api-client.ts";
import { ORDER_TOOLS } from "../support/services/asking-agent.ts";
import { openServiceWithEpisodes } from "../support/services/service-with-episodes.ts";
import type { PageTests } from "../web/tested-page.ts";
import type { Talk } from "./talk.ts";

/** A service with tools that ask, and the script of the page. */
export async function startReactService() {
  const entry = fileURLToPath(new URL("page/react-page.ts", import.meta.url));
  const define = { "process.env.NODE_ENV": '"production"' };
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, write: false, format: "esm", target: "es2022", define });
  const service = await openServiceWithEpisodes({}, { extras: { tools: ORDER_TOOLS } });
  return { ...service, script: outputFiles[0]?.text ?? "" };
}

type ReactTests = Pick<PageTests, "browser"> & Awaited<ReturnType<typeof startReactService>>;

/** Opens chats on a page of React. After each test they are closed, and nothing may have been thrown in them. */
export function useReactChats(on: ReactTests) {
  let chats = 0;
  let opened: { close(): Promise<unknown> }[] = [];
  const problems: string[] = [];
  afterEach(async () => {
    await Promise.all(opened.map((page) => page.close()));
    opened = [];
    expect(problems.splice(0)).toEqual([]);
  });

  /** Opens the page with one hook. `fields`: what else stands in its address. */
  return async function open(hook: string, fields: Record<string, string> = {}) {
    const page = await on.browser.newPage();
    opened.push(page);
    page.setDefaultTimeout(30_000);
    page.on("pageerror", (error) => problems.push(error.message));
    const body = "<!doctype html><meta charset=utf-8><body><script type=module src=/page.js></script>";
    await page.route("**/react?*", (route) => route.fulfill({ contentType: "text/html", body }));
    await page.route("**/page.js", (route) => route.fulfill({ contentType: "text/javascript", body: on.script }));
    const chat = `react-${chats++}`;
    await page.goto(`${on.url}/react?${new URLSearchParams({ hook, chat, ...fields }).toString()}`);
    await page.locator("#status", { hasText: "ready" }).waitFor();
    return {
      page,
      do: (what: keyof Talk, ...given: unknown[]) => page.evaluate(`void window.talk.${what}(...${JSON.stringify(given)})`),
      /** The lines of the chat, once it is at rest and has as many, or has this line. */
      async lines(until: number | string): Promise<string[]> {
        const all = page.locator("li");
        await (typeof until === "string" ? all.filter({ hasText: until }).last() : all.nth(until - 1)).waitFor();
        await page.locator("#status", { hasText: "ready" }).waitFor();
        return all.allTextContents();
      },
      seen: (line: string) => page.locator("li", { hasText: line }).last().waitFor(),
      asked: () => page.locator("#asks:not(:empty)").waitFor(),
      async stored(): Promise<{ content: string; completed: boolean }[]> {
        const thread = new URL(page.url()).searchParams.get("thread");
        return thread ? listMessages(on.url, thread) : messagesOf(on.url, "ada", chat);
      },
    };
  };
}
