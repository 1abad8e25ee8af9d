import { afterEach, describe, expect, test } from "@jest/globals";
import { makeReranker } from "../../models/reranker.ts";
import { readJson, startHttpServer } from "../servers/http-server.ts";

type Answer = { status?: number; body: unknown } | "silence";
interface Seen {
  url: string | undefined;
  authorization: string | undefined;
  body: Record<string, unknown>;
}

let close: () => Promise<void> = async () => undefined;
afterEach(() => close());

/** A server that answers as it is told. */
async function startServer(answer: (body: Record<string, unknown>) => Answer): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = await startHttpServer((request, response) => {
    void readJson<Record<string, unknown>>(request).then((body) => {
      seen.push({ url: request.url, authorization: request.headers.authorization, body });
      const given = answer(body);
      if (given === "silence") return;
      response.writeHead(given.status ?? 200, { "content-type": "application/json" }).end(JSON.stringify(given.body));
    });
  });
  close = () => server.close();
  return { url: `${server.origin}/v1`, seen };
}

const RESULTS = { results: [{ index: 1, relevance_score: 0.9 }, { index: 0, relevance_score: 0.1 }] }; // prettier-ignore

describe("makeReranker", () => {
  test("asks as vLLM, Jina and Cohere do, and gives the scores in the order of the texts", async () => {
    const { url, seen } = await startServer(() => ({ body: RESULTS }));
    const rerank = makeReranker({ baseUrl: `${url}/`, apiKey: "key", model: "some-model", timeoutMs: 5_000 });
    expect(await rerank("Which dog?", ["a cat", "my dog"])).toEqual([0.1, 0.9]);
    const body = { model: "some-model", query: "Which dog?", documents: ["a cat", "my dog"] };
    expect(seen).toEqual([{ url: "/v1/rerank", authorization: "Bearer key", body }]);
  });

  test("asks a server that refuses this as TEI wants it, and the next time at once", async () => {
    const list = [{ index: 0, score: 0.2 }, { index: 1, score: 0.8 }]; // prettier-ignore
    const { url, seen } = await startServer(({ texts }) =>
      texts ? { body: list } : { status: 422, body: { error: "missing field texts" } },
    );
    const rerank = makeReranker({ baseUrl: url, timeoutMs: 5_000 });
    for (let call = 0; call < 2; call++) expect(await rerank("q", ["a", "b"])).toEqual([0.2, 0.8]);
    expect(seen.map(({ body }) => Object.keys(body))).toEqual([
      ["query", "documents"],
      ["query", "texts", "truncate"],
      ["query", "texts", "truncate"],
    ]);
  });

  test.each<[string, Answer, RegExp]>([
    ["fails", { status: 500, body: {} }, /status 500/],
    ["leaves a text out", { body: { results: [{ index: 0, relevance_score: 1 }] } }, /no score/],
    ["sends something else", { body: { hello: "world" } }, /invalid/i],
    ["says nothing", "silence", /timeout/],
  ])("throws when the server %s", async (_name, answer, message) => {
    const { url } = await startServer(() => answer);
    const timeoutMs = answer === "silence" ? 200 : 5_000; // what answers may take its time on a busy machine
    await expect(makeReranker({ baseUrl: url, timeoutMs })("q", ["a", "b"])).rejects.toThrow(message);
  });
});
