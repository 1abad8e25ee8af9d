import { createServer } from "node:http";
import { expect, test } from "@jest/globals";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { postJson, putJson } from "../support/clients/api-client.ts";
import { openTestService } from "../support/services/service.ts";
import { describePage } from "./tested-page.ts";

const KNOWLEDGE = "/api/v1/knowledge/travel";
/** What a page can send without being asked first: a document as plain text. */
const SIMPLE_WRITE = { method: "POST", headers: { "content-type": "text/plain" }, body: "Porto is in Spain." } as const;
const JSON_WRITE = {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ kind: "summarise" }),
} as const;

interface PageRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  mode?: "no-cors";
}

/** What a page gets for a request that it sends itself: the status and text, or `blocked` by the browser. */
async function fetchFrom(page: Page, address: string, request: PageRequest = {}): Promise<{ status: number | string; text: string }> {
  return page.evaluate(
    ([to, init]) =>
      fetch(to, init).then(
        async (answer) => ({ status: answer.status, text: await answer.text() }),
        () => ({ status: "blocked", text: "" }),
      ),
    [address, request] as const,
  );
}

async function startService() {
  const service = await openTestService({ ENABLE_EPISODIC_MEMORY: "true" });
  await putJson(service.url + KNOWLEDGE, { description: "Journeys" });
  await postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "s", message: "My secret is Calypso." });
  const otherPages = createServer((_request, response) => response.setHeader("content-type", "text/html").end("<p>another site</p>"));
  await new Promise<void>((resolve) => otherPages.listen(0, "127.0.0.1", resolve));
  const otherPort = (otherPages.address() as AddressInfo).port;
  const close = () => service.close().finally(() => otherPages.close());
  // The name of the attacker leads to this machine, as it does once it has been rebound.
  return { ...service, port: new URL(service.url).port, otherPort, hostRules: "MAP *.example 127.0.0.1", close };
}

describePage("in a browser, beside a service without keys,", startService, (on) => {
  /** How many documents the knowledge base has. */
  async function documentCount(): Promise<number> {
    const { json } = await on.get(`${KNOWLEDGE}/documents`);
    return (json as unknown as { documents: unknown[] }).documents.length;
  }

  /** A page of `origin`. Its document is made here, as an attacker's server has sent it before the name was rebound. */
  async function openPageOf(origin: string): Promise<Page> {
    const page = await on.browser.newPage();
    await page.route(`${origin}/bait`, (route) => route.fulfill({ contentType: "text/html", body: "<p>bait</p>" }));
    await page.goto(`${origin}/bait`);
    return page;
  }

  test("a page whose name was rebound to this machine can read and write nothing", async () => {
    const page = await openPageOf(`http://evil.example:${on.port}`);
    const read = await fetchFrom(page, "/api/v1/conversations?user_id=ada");
    expect(read).toMatchObject({ status: 421 });
    expect(read.text).not.toContain("Calypso");
    expect(await fetchFrom(page, "/api/v1/jobs/retry", JSON_WRITE)).toMatchObject({ status: 421 });
    expect(await fetchFrom(page, "/")).toMatchObject({ status: 421 });
    expect(await fetchFrom(page, "/readyz")).toMatchObject({ status: 421 });
    await page.close();
  });

  test.each([
    ["localhost", "localhost"],
    ["127.0.0.1", "127.0.0.1"],
    ["localhost", "127.0.0.1"],
    ["evil.example", "127.0.0.1"],
  ])("a page of another port of %s can write nothing to %s", async (own, target) => {
    const page = await on.browser.newPage();
    await page.goto(`http://${own}:${on.otherPort}/`);
    const before = await documentCount();
    await fetchFrom(page, `http://${target}:${on.port}${KNOWLEDGE}/documents?title=forged`, { ...SIMPLE_WRITE, mode: "no-cors" });
    expect(await documentCount()).toBe(before);
    await page.close();
  });

  test.each(["localhost", "127.0.0.1"])("the service's own page at %s can read and write", async (host) => {
    const page = await openPageOf(`http://${host}:${on.port}`);
    const read = await fetchFrom(page, "/api/v1/conversations?user_id=ada");
    expect(read).toMatchObject({ status: 200 });
    expect(read.text).toContain("Calypso");
    expect(await fetchFrom(page, "/api/v1/jobs/retry", JSON_WRITE)).toMatchObject({ status: 200 });
    await page.close();
  });
});
