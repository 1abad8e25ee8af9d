import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { beforeAll, afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { runToolCall } from "../../../agents/run-tool-call.ts";
import type { ToolTurn } from "../../../agents/tool.ts";
import { makeWebFetch } from "../../../agents/tools/web-fetch.ts";
import { isPublicAddress } from "../../../agents/web/public-address.ts";
import type { PublicFetchParts } from "../../../agents/web/public-fetch.ts";
import { pdfOf } from "../../memory/documents/parsing/sample-documents.ts";
import { startHttpServer } from "../../servers/http-server.ts";

const MIB = 2 ** 20;

type Page = (response: ServerResponse) => unknown;
const send =
  (type: string, body: string | Uint8Array, headers: Record<string, string> = {}): Page =>
  (response) =>
    response.writeHead(200, { "content-type": type, ...headers }).end(body);
const redirect =
  (location: string): Page =>
  (response) =>
    response.writeHead(302, { location }).end();

let server: Awaited<ReturnType<typeof startHttpServer>>;
let port: string;
let page: Page = send("text/plain", "nothing");
let requests: string[] = [];
beforeAll(async () => {
  server = await startHttpServer((request, response) => {
    requests.push(`${request.headers.host}${request.url}`);
    page(response);
  });
  port = new URL(server.origin).port;
});
afterAll(() => server.close());
beforeEach(() => void (requests = []));

/** The test's server counts as public; nothing else on this machine does. */
const TEST_NET: PublicFetchParts = { isAllowed: (address) => address === "127.0.0.1" || isPublicAddress(address) };

async function fetchPage(url: string, { timeoutMs = 20_000, ...parts }: PublicFetchParts & { timeoutMs?: number } = TEST_NET) {
  const tool = { ...makeWebFetch(parts), timeoutMs };
  const { signal } = new AbortController();
  const call = { id: "call", name: "web_fetch", arguments: JSON.stringify({ url }) };
  const given = { tools: [tool], permissionOf: () => "allow" as const, turn: {} as ToolTurn, hooks: {}, timeoutMs, signal };
  const { ok, output } = await runToolCall(call, given);
  return ok ? { output } : (JSON.parse(output) as { error: string; message: string });
}

describe("web_fetch reads", () => {
  test.each<[what: string, page: Page, text: string]>([
    ["HTML, without its scripts", send("text/html", "<script>bad()</script><h1>Title</h1><p>Hello <b>you</b></p>"), "# Title\n\nHello you"],
    ["JSON", send("application/json", '{"a":1}'), '{"a":1}'],
    ["a page without a type", (response) => response.end("plain words"), "plain words"],
    ["gzip", send("text/plain", gzipSync("packed"), { "content-encoding": "gzip" }), "packed"],
    ["a charset of the server", send("text/html; charset=gb2312", Uint8Array.from([0xd6, 0xaa, 0xca, 0xb6])), "知识"],
    [
      "a charset of the page, although the server names another",
      send(
        "text/html; charset=utf-8",
        Buffer.concat([Buffer.from('<meta charset="gbk">'), Uint8Array.from([0xd6, 0xaa, 0xca, 0xb6, 0xbf, 0xe2])]),
      ),
      "知识库",
    ],
    ["a charset that nobody knows", send("text/plain; charset=klingon", "words"), "words"],
    ["a byte that is of no charset", send("text/plain", Uint8Array.from([0x61, 0xff, 0x62])), "a\uFFFDb"],
  ])("%s", async (_what, given, text) => {
    page = given;
    expect(await fetchPage(`${server.origin}/page`)).toEqual({ output: `${server.origin}/page\n\n${text}` });
  });

  test("a PDF", async () => {
    page = send("application/pdf", pdfOf("words of a PDF"));
    expect(await fetchPage(server.origin)).toEqual({ output: expect.stringContaining("words of a PDF") });
  });

  test("the page behind a redirect, and says which it is", async () => {
    page = (response) => (requests.length === 1 ? redirect("/moved")(response) : send("text/plain", "here")(response));
    expect(await fetchPage(server.origin)).toEqual({ output: `${server.origin}/moved\n\nhere` });
  });
});

describe("web_fetch refuses", () => {
  test.each([
    "127.0.0.1",
    "localhost",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "①②⑦.0.0.1",
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::7f00:1]",
    "[64:ff9b::7f00:1]",
  ])("http://%s, and nothing is sent there", async (host) => {
    page = send("text/plain", "secret");
    expect(await fetchPage(`http://${host}:${port}/`, {})).toMatchObject({ error: "address_refused" });
    expect(requests).toEqual([]);
  });

  test.each([
    "http://127.0.0.2/",
    "http://169.254.169.254/latest/meta-data",
    "https://[fd00:ec2::254]/",
    "http://inside.test/",
    "http://half.test/",
  ])("a redirect to %s", async (location) => {
    page = redirect(location);
    const resolve = async (name: string) =>
      [...(name === "half.test" ? ["8.8.8.8"] : []), "10.0.0.1"].map((address) => ({ address, family: 4 }));
    expect(await fetchPage(server.origin, { ...TEST_NET, resolve })).toMatchObject({ error: "address_refused" });
    expect(requests).toHaveLength(1);
  });

  test("a name that leads to a private address when it is looked up again", async () => {
    let lookups = 0;
    const resolve = async () => [{ address: lookups++ === 0 ? "127.0.0.1" : "127.0.0.2", family: 4 }];
    page = redirect(`http://rebound.test:${port}/again`);
    const { error } = (await fetchPage(`http://rebound.test:${port}/`, { ...TEST_NET, resolve })) as { error: string };
    expect({ error, lookups, requests }).toEqual({ error: "address_refused", lookups: 2, requests: [`rebound.test:${port}/`] });
  });

  test("to look a name up twice for one connection", async () => {
    let lookups = 0;
    const resolve = async () => [{ address: lookups++ === 0 ? "127.0.0.1" : "127.0.0.2", family: 4 }];
    page = send("text/plain", "here");
    expect(await fetchPage(`http://once.test:${port}/`, { ...TEST_NET, resolve })).toHaveProperty("output");
    expect(lookups).toBe(1);
  });

  test.each(["file:///etc/passwd", "ftp://example.com/", "data:text/plain,hello", "javascript:1", "//no.scheme", "no address", "http://"])(
    "%s, which is no address of a page",
    async (url) => {
      expect(await fetchPage(url)).toMatchObject({ error: "invalid_url" });
    },
  );

  test.each<[what: string, url: string, error: string]>([
    ["a password in the address", "http://ada:secret@", "page_unreachable"],
    ["a port that browsers refuse", "http://127.0.0.1:25/", "page_unreachable"],
  ])("%s", async (_what, url, error) => {
    expect(await fetchPage(url.endsWith("@") ? url + `127.0.0.1:${port}/` : url)).toMatchObject({ error });
    expect(requests).toEqual([]);
  });
});

describe("web_fetch gives up on", () => {
  const never = (): void => undefined;
  test.each<[what: string, page: Page, error: string]>([
    ["a redirect without end", redirect("/"), "page_unreachable"],
    ["a redirect to a file", redirect("file:///etc/passwd"), "page_unreachable"],
    ["a page that is not there", (response) => response.writeHead(404).end("no"), "http_error"],
    ["a picture", send("image/png", "x"), "not_readable"],
    ["a binary file that says it is text", send("text/plain", "a\0b"), "document_unreadable"],
    ["a page without text", send("text/html", "<script>all()</script>"), "document_unreadable"],
    ["more than 2 MiB", send("text/plain", "a".repeat(2 * MIB + 1)), "page_too_large"],
    ["a gzip bomb", send("text/plain", gzipSync(Buffer.alloc(200 * MIB)), { "content-encoding": "gzip" }), "page_too_large"],
    [
      "a gzip bomb in a gzip",
      send("text/plain", gzipSync(gzipSync(Buffer.alloc(200 * MIB))), { "content-encoding": "gzip, gzip" }),
      "page_too_large",
    ],
    ["gzip that is none", send("text/plain", "not packed", { "content-encoding": "gzip" }), "page_unreachable"],
    [
      "a page shorter than its length says",
      (response) => {
        response.writeHead(200, { "content-type": "text/plain", "content-length": "1000" }).write("short");
        setTimeout(() => response.destroy(), 50);
      },
      "page_unreachable",
    ],
    ["a server that answers in another protocol", (response) => response.socket?.end("SSH-2.0-OpenSSH_9.6\r\n"), "page_unreachable"],
    ["headers without end", (response) => response.writeHead(200, { "x-long": "a".repeat(100_000) }).end(), "page_unreachable"],
  ])("%s", async (_what, given, error) => {
    page = given;
    expect(await fetchPage(server.origin)).toMatchObject({ error });
  });

  test("what is longer than its length says", async () => {
    page = (response) => response.socket?.end("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nfour and more");
    const { output = "four" } = (await fetchPage(server.origin)) as { output?: string };
    expect(output).toMatch(/four$/);
  });

  test.each<[what: string, begin: Page]>([
    ["a server that says nothing", never],
    [
      "a page that never ends",
      (response) => {
        response.writeHead(200, { "content-type": "text/plain" });
        const dripping = setInterval(() => response.write("drip "), 20);
        response.on("close", () => clearInterval(dripping));
      },
    ],
  ])("%s, and closes the connection", async (_what, begin) => {
    const closed = Promise.withResolvers<void>();
    page = (response) => {
      response.on("close", () => closed.resolve());
      begin(response);
    };
    expect(await fetchPage(server.origin, { ...TEST_NET, timeoutMs: 500 })).toMatchObject({ error: "tool_timeout" });
    await closed.promise;
  });
});

test.each<[address: string, isPublic: boolean]>([
  ["93.184.216.34", true],
  ["2606:2800:220:1:248:1893:25c8:1946", true],
  ["::ffff:93.184.216.34", true],
  ["::ffff:10.0.0.1", false],
  ["::5db8:d822", false],
  ["::127.0.0.1", false],
  ["100.100.100.200", false],
  ["168.63.129.16", false],
  ["192.168.1.1", false],
  ["198.18.0.1", false],
  ["224.0.0.1", false],
  ["255.255.255.255", false],
  ["fe80::1", false],
  ["fe80::1%eth0", false],
  ["fec0::1", false],
  ["fd12:3456::1", false],
  ["2001:db8::1", false],
  ["2002:7f00:1::", false],
  ["ff02::1", false],
  ["no address", false],
  ["", false],
])("the address %s is public: %s", (address, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic);
});
