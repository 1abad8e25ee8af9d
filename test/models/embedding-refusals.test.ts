import { beforeEach, describe, expect, test } from "@jest/globals";
import { openOpenAIEmbedder } from "../../models/openai-embedder.ts";
import { type EmbeddingScript, startEmbeddingServer } from "../servers/embedding-server.ts";
import { useOpened } from "../support/use-opened.ts";

const server = useOpened(startEmbeddingServer);
beforeEach(() => void server.seen.splice(0));

const open = ({ dimensions }: { dimensions: number }) =>
  openOpenAIEmbedder({ baseUrl: server.url, model: "some-model", timeoutMs: 5_000, dimensions });

describe("the embedder of a server", () => {
  test.each<[string, NonNullable<EmbeddingScript["refuses"]>, number[]]>([
    ["encoding_format", ({ encoding_format }) => (encoding_format ? "encoding_format: Extra inputs are not permitted" : null), [3, 3, 3]],
    ["dimensions", ({ dimensions }) => (dimensions ? "Model does not support matryoshka representation" : null), [3, 3, 3]],
    ["more than two texts", ({ input }) => (input.length > 2 ? "batch size 3 > maximum allowed batch size 2" : null), [3, 2, 1, 2, 1]],
  ])("learns from a server that refuses %s, and asks the next time as it wants", async (_what, refuses, sizes) => {
    server.answer({ refuses });
    const embedder = await open({ dimensions: 4 });
    for (let again = 0; again < 2; again++) expect(await embedder.embedPassages(["a", "bb", "ccc"])).toHaveLength(3);
    expect(server.seen.map(({ input }) => input.length)).toEqual(sizes);
  });

  test("says so when a server that refuses the dimensions has others", async () => {
    server.answer({ refuses: ({ dimensions }) => (dimensions ? "dimensions is not supported" : null) });
    await expect((await open({ dimensions: 8 })).embedQuestion("a")).rejects.toThrow("4 numbers instead of 8");
  });
});
