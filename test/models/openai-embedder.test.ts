import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { AppError } from "../../errors/app-error.ts";
import { gatherPassages } from "../../models/embedder.ts";
import { openOpenAIEmbedder, type OpenAIEmbedderOptions, truncateForEmbedding } from "../../models/openai-embedder.ts";
import { startEmbeddingServer, type EmbeddingServer } from "../servers/embedding-server.ts";
import { anyText } from "../support/samples/any-text.ts";
import { waitUntil } from "../support/wait-until.ts";

let server: EmbeddingServer;
beforeEach(async () => {
  server = await startEmbeddingServer();
});
afterEach(() => server.close());

const open = (options: Partial<OpenAIEmbedderOptions> = {}): ReturnType<typeof openOpenAIEmbedder> =>
  openOpenAIEmbedder({ baseUrl: server.url, model: "some-model", timeoutMs: 5_000, ...options });

async function failure(promise: Promise<unknown>): Promise<AppError> {
  const error = (await promise.catch((thrown: unknown) => thrown)) as AppError;
  expect(error).toMatchObject({ name: "AppError", code: "embedder_unavailable", message: expect.not.stringContaining("secret") });
  return error;
}

describe("openOpenAIEmbedder", () => {
  test("asks the server once for the dimensions of a model it does not know", async () => {
    expect((await open()).dimensions).toBe(4);
    expect(server.seen).toHaveLength(1);
  });

  test.each([
    ["text-embedding-3-small", 1536],
    ["text-embedding-3-large", 3072],
  ])("knows the dimensions of %s", async (model, dimensions) => {
    expect((await open({ model })).dimensions).toBe(dimensions);
    expect(server.seen).toEqual([]);
  });

  test("sends the dimensions it is given to every server, for questions and passages", async () => {
    for (const model of ["some-model", "openai/text-embedding-3-small"]) {
      const embedder = await open({ dimensions: 4, model });
      await embedder.embedQuestion("one");
      await embedder.embedPassages(["two"]);
    }
    expect(server.seen.map(({ dimensions }) => dimensions)).toEqual([4, 4, 4, 4]);
  });

  test("sends no dimensions that are only known of the model, or that it has found out", async () => {
    await (await open({ knownDimensions: 4 })).embedQuestion("one");
    await (await open()).embedQuestion("two");
    expect(server.seen.map(({ dimensions }) => dimensions)).toEqual([undefined, undefined, undefined]);
  });

  test.each(["multilingual-e5-small", "intfloat/e5-large-v2"])("knows how %s is weighed", async (model) => {
    expect(await open({ model, dimensions: 4 })).toMatchObject({ vectorWeight: 0.625, minSimilarity: 0.86 });
    const other = await open({ model: "some-e50-model", dimensions: 4 });
    expect(other).toMatchObject({ vectorWeight: 0.75 });
    expect(other.minSimilarity).toBeUndefined();
  });

  test("fails clearly when the server is away as it opens", async () => {
    const { url } = server;
    await server.close();
    expect((await failure(open({ baseUrl: url }))).message).toContain("EMBEDDING_BASE_URL");
    server = await startEmbeddingServer();
  });
});

describe("the embedder of a server", () => {
  test("gives vectors of length 1 in the order of the texts, 64 texts a request", async () => {
    server.answer({ change: ({ data }) => ({ data: data.toReversed() }) });
    const embedder = await open({ dimensions: 4 });
    const texts = Array.from({ length: 150 }, (_, index) => "x".repeat(index));
    const vectors = await embedder.embedPassages(texts);
    expect(server.seen.map(({ input }) => input.length)).toEqual([64, 64, 22]);
    expect(vectors).toHaveLength(150);
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 9);
    const first = vectors.map(([value = 0, second = 1]) => Math.round(value / second));
    expect(first.slice(1)).toEqual(texts.slice(1).map(({ length }) => length + 1));
  });

  test("puts fewer long texts into a request, so that a slow server answers in time", async () => {
    const embedder = await open({ dimensions: 4 });
    expect(await embedder.embedPassages(Array.from({ length: 40 }, () => "word ".repeat(300)))).toHaveLength(40);
    expect(server.seen.map(({ input }) => input.length)).toEqual([13, 13, 13, 1]);
  });

  test("asks for nothing when there are no texts", async () => {
    expect(await (await open({ dimensions: 4 })).embedPassages([])).toEqual([]);
    expect(server.seen).toEqual([]);
  });

  test("uses the models and prefixes of questions and passages, and plain numbers", async () => {
    const embedder = await open({ knownDimensions: 4, questionModel: "e5-query", questionPrefix: "query: ", passagePrefix: "passage: " });
    await embedder.embedQuestion("who?");
    await embedder.embedPassages(["me"]);
    expect(server.seen).toEqual([
      { model: "e5-query", input: ["query: who?"], encoding_format: "float" },
      { model: "some-model", input: ["passage: me"], encoding_format: "float" },
    ]);
  });

  test("has a name that changes with the model and the prefix of passages", async () => {
    expect((await open({ dimensions: 4 })).name).toBe("some-model");
    expect((await open({ dimensions: 4, passagePrefix: "passage: " })).name).not.toBe("some-model");
  });

  test("cuts long texts and sends none that is empty", async () => {
    const embedder = await open({ dimensions: 4 });
    await embedder.embedPassages(["word ".repeat(5_000), "  "]);
    await embedder.embedQuestion("");
    expect(server.seen.map(({ input }) => input)).toEqual([["word ".repeat(400).trim(), "."], ["."]]);
  });

  test("accepts an answer without indexes", async () => {
    server.answer({ change: ({ data }) => ({ data: data.map(({ embedding }) => ({ embedding })) }) });
    expect(await (await open({ dimensions: 4 })).embedPassages(["a", "bb"])).toHaveLength(2);
  });

  test.each<[string, (index: number) => unknown]>([
    ["is 0 for each", () => 0],
    ["is a text", String],
  ])("accepts an index that %s", async (_name, index) => {
    server.answer({ change: ({ data }) => ({ data: data.map((item, place) => ({ ...item, index: index(place) })) }) });
    expect(await (await open({ dimensions: 4 })).embedPassages(["a", "bb"])).toHaveLength(2);
  });

  test("reads base64 that nobody asked for", async () => {
    server.answer({ vectorOf: () => "AACAPwAAgD8AAIA/AACAPw==" });
    expect(await (await open({ dimensions: 4 })).embedQuestion("a")).toEqual([0.5, 0.5, 0.5, 0.5]);
  });

  test.each<[string, Parameters<EmbeddingServer["answer"]>[0]]>([
    ["too few vectors", { change: ({ data }) => ({ data: data.slice(1) }) }],
    ["an index that is none", { change: ({ data }) => ({ data: data.map((item, index) => ({ ...item, index: index + 7 })) }) }],
    ["other dimensions", { vectorOf: () => [1, 2, 3] }],
    ["dimensions that differ", { vectorOf: (text) => (text === "a" ? [1, 2, 3, 4] : [1, 2]) }],
    ["numbers that are none", { vectorOf: () => [1, null, "3", 4] }],
    ["nothing but zeros", { vectorOf: () => [0, 0, 0, 0] }],
    ["another object", { change: () => ({ hello: 1 }) }],
    ["a list", { change: () => [] }],
    ["null", { change: () => null }],
    ["no JSON", { ending: "garbage" }],
    ["a dropped connection", { ending: "cut" }],
  ])("refuses %s", async (_name, script) => {
    server.answer(script);
    await failure((await open({ dimensions: 4 })).embedPassages(["a", "bb"]));
  });

  test.each([
    [401, true],
    [404, true],
    [429, false],
    [503, false],
    [501, true],
  ])("says at status %i what to check if that may help, and does not try again by itself", async (status, isRefusal) => {
    server.answer({ status });
    const { message, cause } = await failure((await open({ dimensions: 4 })).embedQuestion("a"));
    expect(message).toContain(String(status));
    for (const name of ["EMBEDDING_MODEL=built-in", "EMBEDDING_BASE_URL", "EMBEDDING_API_KEY"])
      expect(message.includes(name)).toBe(isRefusal);
    expect(cause).toBeInstanceOf(Error);
    expect(server.seen).toHaveLength(1);
  });

  test.each(["silent", "stall"] as const)("gives up at the deadline when the server is %s", async (ending) => {
    server.answer({ ending });
    const embedder = await open({ dimensions: 4, timeoutMs: 300 });
    await failure(embedder.embedQuestion("a"));
    await waitUntil("the request is aborted", () => server.aborted === 1);
  });

  test.each(["silent", "stall"] as const)("stops at once when the signal aborts and the server is %s", async (ending) => {
    server.answer({ ending });
    const embedder = await open({ dimensions: 4, timeoutMs: 30_000 });
    const abort = new AbortController();
    const asked = embedder.embedQuestion("a", abort.signal);
    setTimeout(() => abort.abort(new Error("the turn ended")), 100);
    await expect(asked).rejects.toThrow("the turn ended");
    await waitUntil("the request is aborted", () => server.aborted === 1);
    await expect(embedder.embedPassages(["b"], abort.signal)).rejects.toThrow("the turn ended");
    expect(server.seen).toHaveLength(1);
  });
});

describe("truncateForEmbedding", () => {
  test.each([
    ["gives a text that fits as it is", " 我的 cat is grey. ", "我的 cat is grey."],
    ["keeps 400 words", "word ".repeat(1_000), "word ".repeat(400).trim()],
    ["keeps 1,500 characters", "导演".repeat(1_000), "导演".repeat(750)],
    ["keeps characters of two code units whole", "𠮷".repeat(5_000), "𠮷".repeat(1_500)],
    ["counts a mixture together", `${"word ".repeat(200)}${"导".repeat(2_000)}`, `${"word ".repeat(200)}${"导".repeat(750)}`],
    ["counts a long key as several words", "x".repeat(100_000), "x".repeat(3_200)],
  ])("%s", (_name, text, kept) => expect(truncateForEmbedding(text)).toBe(kept));

  test("property: is never empty, never half a character, never longer than a beginning of the text", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const cut = truncateForEmbedding(text);
        expect(cut.trim()).not.toBe("");
        expect(cut.isWellFormed()).toBe(true);
        expect(cut === "." || text.toWellFormed().trim().startsWith(cut) || !text.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe("gatherPassages", () => {
  const lengthsOf = (vectors: number[][]): number[] => vectors.map(([value = 0, second = 1]) => Math.round(value / second) - 1);

  test("embeds what several jobs ask for at a time in one call, and gives each its own", async () => {
    const embedder = gatherPassages(await open({ dimensions: 4 }));
    const asked = [["a", "bb"], [], ["ccc"]].map((texts) => embedder.embedPassages(texts));
    expect((await Promise.all(asked)).map(lengthsOf)).toEqual([[1, 2], [], [3]]);
    await embedder.embedPassages(["dddd"]);
    expect(server.seen.map(({ input }) => input)).toEqual([["a", "bb", "ccc"], ["dddd"]]);
  });

  test("lets no text fail those of others, and asks once more only for several", async () => {
    server.answer({ vectorOf: (text) => (text === "bad" ? [] : [text.length + 1, 1, 0, 0]) });
    const embedder = gatherPassages(await open({ dimensions: 4 }));
    const [good, bad] = await Promise.allSettled([embedder.embedPassages(["a"]), embedder.embedPassages(["bad"])]);
    expect(good).toMatchObject({ status: "fulfilled" });
    expect(bad).toMatchObject({ status: "rejected", reason: { code: "embedder_unavailable" } });
    await failure(embedder.embedPassages(["bad"]));
    expect(server.seen.map(({ input }) => input)).toEqual([["a", "bad"], ["a"], ["bad"], ["bad"]]);
  });

  test("goes on for the others when one gives up", async () => {
    const embedder = gatherPassages(await open({ dimensions: 4 }));
    const leaving = new AbortController();
    const asked = [embedder.embedPassages(["a"], leaving.signal), embedder.embedPassages(["bb"])];
    leaving.abort(new Error("stopped"));
    const [stopped, other] = await Promise.allSettled(asked);
    expect(stopped).toMatchObject({ status: "rejected", reason: { message: "stopped" } });
    expect(other).toMatchObject({ status: "fulfilled" });
    expect(server.seen).toHaveLength(1);
  });
});
