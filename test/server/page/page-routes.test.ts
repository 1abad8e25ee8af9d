import { describe, expect, test } from "@jest/globals";
import express from "express";
import { pino } from "pino";
import { errorResponse } from "../../../server/http/error-response.ts";
import { closeServer, listen, portOf } from "../../../server/http/listen.ts";
import { pageRoutes } from "../../../server/page/page-routes.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { useTestService } from "../../support/services/service.ts";

describe("over HTTP,", () => {
  const service = useTestService({ API_KEYS: "a-long-secret:acme" });

  const assetsOf = (page: string): string[] => [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, address]) => address ?? "");

  test("the page needs no key, is revalidated each time, and loads scripts and styles from the service only", async () => {
    const response = await fetch(service.url);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-cache");
    const policy = response.headers.get("content-security-policy")?.split("; ");
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:"]),
    );
    expect(policy?.join()).not.toContain("unsafe");
    expect(await response.text()).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/);
  });

  test("the page's files are named after their contents, are cached for a year, and come compressed as the client asks", async () => {
    const assets = assetsOf(await (await fetch(service.url)).text());
    expect(assets.map((asset) => asset.split(".").at(-1))).toEqual(expect.arrayContaining(["js", "css"]));
    for (const asset of assets) {
      expect(asset).toMatch(/-[A-Z0-9]{8}\.(js|css)$/);
      for (const encoding of ["br", "gzip", "identity"]) {
        const response = await fetch(service.url + asset, { headers: { "accept-encoding": encoding } });
        const sent = { status: response.status, encoding: response.headers.get("content-encoding") ?? "identity" };
        expect(sent).toEqual({ status: 200, encoding });
        expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
        expect((await response.text()).length).toBeGreaterThan(50);
      }
    }
  });

  test("the page's first view has at most 70 KB of compressed script, and all views together have 120 KB", async () => {
    const KB = 1_000;
    const [script = ""] = assetsOf(await (await fetch(service.url)).text()).filter((address) => address.endsWith(".js"));
    /** The scripts that one needs, with their sizes; `how` finds their names in it. */
    async function sizes(address: string, how: RegExp, found = new Map<string, number>()): Promise<Map<string, number>> {
      if (found.has(address)) return found;
      const response = await fetch(service.url + address, { method: "HEAD", headers: { "accept-encoding": "br" } });
      expect(response.headers.get("content-encoding")).toBe("br");
      found.set(address, Number(response.headers.get("content-length")));
      const text = await (await fetch(service.url + address)).text();
      for (const [, name = ""] of text.matchAll(how)) await sizes(`/assets/${name}`, how, found);
      return found;
    }
    const sum = (found: Map<string, number>): number => [...found.values()].reduce((total, size) => total + size, 0);
    const atOnce = await sizes(script, /(?:from|import)\s*"\.\/([^"]+\.js)"/g);
    const all = await sizes(script, /"\.\/([^"]+\.js)"/g);
    const text = Math.max(...[...all].filter(([address]) => /\/(en|zh)-/.test(address)).map(([, size]) => size));
    expect(sum(atOnce) + text).toBeGreaterThan(30 * KB);
    expect(sum(atOnce) + text).toBeLessThan(70 * KB);
    expect(sum(all)).toBeLessThan(120 * KB);
    expect(all.size).toBeGreaterThan(atOnce.size + 4);
  });

  test("the page's folder serves nothing else, and the API still asks for a key", async () => {
    for (const address of ["/assets/nothing.js", "/assets/..%2findex.html", "/assets/%2e%2e%2f%2e%2e%2fpackage.json"])
      expect((await fetch(service.url + address)).status).toBe(401);
    expect((await service.get("/api/v1/status")).status).toBe(401);
  });
});

test("an answer without a built page says which command builds it", async () => {
  const app = express().use(pageRoutes("/nowhere"), errorResponse(pino({ level: "silent" }), 1));
  const server = await listen(app, 0, "127.0.0.1");
  const refused = await callApi(`http://127.0.0.1:${portOf(server)}/`);
  expectRefusal(refused, { status: 404, code: "not_found", says: /npm run build/ });
  await closeServer(server);
});
