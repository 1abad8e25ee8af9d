import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import express, { type ErrorRequestHandler } from "express";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeReadLargeJson } from "../../../server/http/read-body.ts";
import { waitUntil } from "../../support/wait-until.ts";

const ORDINARY = 1_000;
const LIMIT = 10_000;

describe("JSON that may hold files, in a room for two of the largest bodies", () => {
  const held: (() => void)[] = [];
  const errors: ErrorRequestHandler = (error: unknown, _request, response, next) => {
    if (response.headersSent) next(error);
    else response.status(500).json(error instanceof AppError ? error.code : String(error));
  };
  const app = express()
    .post("/", makeReadLargeJson(2 * LIMIT)({ limitBytes: LIMIT, ordinaryBytes: ORDINARY }), (request, response) => {
      const answer = (): void => void response.json((request.body as { text: string }).text.length);
      if (request.query["hold"] === undefined) answer();
      else held.push(answer);
    })
    .use(errors);
  const server = http.createServer(app);
  let url: string;
  beforeAll(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterAll(() => void server.close());

  const json = (bytes: number): string => JSON.stringify({ text: "x".repeat(bytes - '{"text":""}'.length) });
  type Way = "told" | "chunked" | "packed";
  async function post(bytes: number, way: Way, query = ""): Promise<unknown> {
    const body = { told: () => json(bytes), chunked: () => new Blob([json(bytes)]).stream(), packed: () => gzipSync(json(bytes)) }[way]();
    const headers = { "content-type": "application/json", ...(way === "packed" ? { "content-encoding": "gzip" } : {}) };
    return (await fetch(url + query, { method: "POST", headers, body, duplex: "half" })).json();
  }
  async function hold(count: number, bytes: number, way: Way): Promise<{ answers: Promise<unknown[]>; release: () => void }> {
    const before = held.length;
    const answers = Promise.all(Array.from({ length: count }, () => post(bytes, way, "?hold")));
    await waitUntil("the bodies being read", () => held.length === before + count);
    return { answers, release: () => held.splice(before).forEach((answer) => answer()) };
  }

  test.each<Way>(["told", "chunked", "packed"])("takes ordinary ones that are %s, however many", async (way) => {
    const { answers, release } = await hold(20, ORDINARY, way);
    release();
    expect(new Set(await answers)).toEqual(new Set([ORDINARY - 11]));
  });

  test.each<Way>(["told", "chunked"])("refuses a large one that is %s when two are answered, and takes it afterwards", async (way) => {
    const { answers, release } = await hold(2, LIMIT, way);
    expect(await post(LIMIT, way)).toBe("overloaded");
    expect(await post(ORDINARY, way)).toBe(ORDINARY - 11);
    release();
    await answers;
    await waitUntil("room", async () => (await post(LIMIT, way)) === LIMIT - 11);
  });

  test.each<Way>(["told", "chunked"])("refuses one over the limit that is %s", async (way) => {
    expect(await post(LIMIT + 1, way)).toBe("body_too_large");
  });

  test("reads no more of a packed one than of an ordinary one", async () => {
    expect(await post(ORDINARY + 1, "packed")).toMatch(/too large/);
  });
});
