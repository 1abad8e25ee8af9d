import { readJson, startHttpServer } from "./http-server.ts";

export interface EmbeddingRequestBody {
  model: string;
  input: string[];
  encoding_format?: string;
  dimensions?: number;
}

export interface EmbeddingScript {
  /** Default: a vector of four numbers made of the text's length. */
  vectorOf?: (text: string) => unknown;
  change?: (answer: { data: { index?: number; embedding: unknown }[] }) => unknown;
  status?: number;
  /** Why a request is refused with status 400; null: it is answered. */
  refuses?: (body: EmbeddingRequestBody) => string | null;
  /** `silent` never answers, `stall` sends the beginning of an answer, `cut` drops the connection, `garbage` is no JSON. */
  ending?: "silent" | "stall" | "cut" | "garbage";
}

export type EmbeddingServer = Awaited<ReturnType<typeof startEmbeddingServer>>;

const vectorOfLength = (text: string): number[] => [text.length + 1, 1, -2, 0.5];

export async function startEmbeddingServer() {
  let script: EmbeddingScript = {};
  const server = await startHttpServer((request, response) => {
    void (async () => {
      if (!request.url?.endsWith("/v1/embeddings")) return response.writeHead(404).end("{}");
      const body = await readJson<EmbeddingRequestBody>(request);
      embeddingServer.seen.push(body);
      response.on("close", () => (embeddingServer.aborted += response.writableFinished ? 0 : 1));
      const { status, ending, vectorOf = vectorOfLength, change = (answer) => answer } = script;
      const refusal = script.refuses?.(body) ?? null;
      if (refusal !== null)
        return response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: refusal } }));
      if (ending === "silent") return;
      if (ending === "cut") return response.destroy();
      response.writeHead(status ?? 200, { "content-type": "application/json" });
      if (status !== undefined) return response.end(JSON.stringify({ error: { message: "secret words of the embedding server" } }));
      if (ending === "stall") return response.write('{"data":[');
      if (ending === "garbage") return response.end("<html>no JSON</html>");
      const data = body.input.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) }));
      const answer = { object: "list", data, model: body.model, usage: { prompt_tokens: 1, total_tokens: 1 } };
      return response.end(JSON.stringify(change(answer)));
    })();
  });
  const embeddingServer = {
    url: `${server.origin}/v1`,
    seen: [] as EmbeddingRequestBody[],
    aborted: 0,
    answer: (next: EmbeddingScript) => void (script = next),
    close: server.close,
  };
  return embeddingServer;
}
