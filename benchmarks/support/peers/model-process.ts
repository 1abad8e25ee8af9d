import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import { startModelServer, type ChatRequestBody } from "../../../test/servers/model-server.ts";
import type { PromptMessage } from "../dialogues/count-tokens.ts";
import { answerTo } from "./script.ts";

export interface RecordedRequest {
  isAnswer: boolean;
  messages: PromptMessage[];
  tools: string;
}

const BACKGROUND = Array.from({ length: 120 }, (_, index) => `point${index} `);

const embedder = makeHashedEmbedder({ dimensions: 512 });
const pieces = new Map<string, string[]>();
let recorded: RecordedRequest[] | null = null;

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content.map((part: { text?: string }) => part.text ?? "").join("");
}

/** At most six characters, like a model's tokens. */
function piecesOf(answer: string): string[] {
  const known = pieces.get(answer) ?? answer.match(/\S{1,6}\s*/gu) ?? [];
  pieces.set(answer, known);
  return known;
}

/** Serves embeddings in OpenAI's protocol; POST …/record begins to keep chat requests, and …/recorded returns them and ends it. */
async function answerOther(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (answer: unknown): void => void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  if (request.url?.endsWith("/embeddings")) {
    const { input, model } = (await json(request)) as { input: string | string[]; model: string };
    const vectors = await embedder.embedPassages([input].flat());
    const data = vectors.map((embedding, index) => ({ object: "embedding", index, embedding }));
    return send({ object: "list", model, data, usage: { prompt_tokens: 1, total_tokens: 1 } });
  }
  if (request.url?.endsWith("/recorded")) {
    send(recorded ?? []);
    recorded = null;
    return;
  }
  if (!request.url?.endsWith("/record")) return void response.writeHead(404).end("{}");
  recorded = [];
  send({});
}

// A process of its own, outside all measurements. It prints its address.
const server = await startModelServer({ keepSeen: false, other: answerOther });
server.answer(({ messages, tools }: ChatRequestBody) => {
  const asked = messages.findLast(({ role }) => role === "user");
  const answer = answerTo(textOf(asked?.content));
  recorded?.push({
    isAnswer: answer !== null,
    messages: messages.map(({ role, content }) => ({ role, content: textOf(content) })),
    tools: tools ? JSON.stringify(tools) : "",
  });
  return { tokens: answer === null ? BACKGROUND : piecesOf(answer) };
});
process.stdout.write(`${server.url}\n`);
