import { createServer } from "node:http";

/**
 * What a peer is measured through. Messages are listed by the peer's own API.
 * @typedef {object} Peer
 * @property {(turn: { userId: string, sessionId: string, message: string }) => AsyncIterable<string>} answer The answer as the peer streams it; ends when the peer says that the turn is over.
 * @property {(thread: { userId: string, sessionId: string }) => Promise<{ role: string, content: string }[]>} messages
 */

async function readJson(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

async function streamAnswer(peer, body, response) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const send = (status, content) => response.write(`data: ${JSON.stringify({ status, content })}\n\n`);
  try {
    let answer = "";
    for await (const text of peer.answer({ userId: body.user_id, sessionId: body.session_id, message: body.message })) {
      if (text === "") continue;
      answer += text;
      send("token", text);
    }
    send("done", { answer });
  } catch (error) {
    send("error", { message: String(error) });
  }
  response.end();
}

/**
 * The same small server for every peer: `POST /chat` streams a turn as server-sent events, `POST /messages` lists a conversation.
 * Prints its address.
 * @param {Peer} peer
 */
export function serve(peer) {
  const server = createServer(async (request, response) => {
    const body = await readJson(request);
    if (request.url === "/chat") return streamAnswer(peer, body, response);
    try {
      const answer = await peer.messages({ userId: body.user_id, sessionId: body.session_id });
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    } catch (error) {
      response.writeHead(500).end(String(error.stack ?? error));
    }
  });
  server.listen(0, "127.0.0.1", () => process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`));
  process.on("SIGTERM", () => process.exit(0));
}

/** Where everything is, as the benchmark says: DATABASE_URL, MODEL_URL, VECTOR_FILE, and which memory is wanted. */
export const settings = {
  databaseUrl: process.env.DATABASE_URL,
  modelUrl: process.env.MODEL_URL,
  vectorFile: process.env.VECTOR_FILE,
  semantic: process.env.MEMORY === "semantic",
};

/** The same words for every peer. */
export const INSTRUCTIONS = "You are a helpful assistant.";
