import { beforeAll, describe, expect, test } from "@jest/globals";
import { makeHashedEmbedder } from "../../models/offline/hashed-embedder.ts";
import { readJson, startHttpServer } from "../servers/http-server.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { openTestService } from "../support/services/service.ts";
import { holdConversation } from "./hold-conversation.ts";
import { type Conversation, readConversations } from "./read-conversations.ts";

const BASES = [
  {
    name: "travel",
    description: "Trams, tickets and museums in Lisbon",
    title: "Tram 28",
    text: "A single ticket for tram 28 costs 3.10 euros on board. The museum of trams is open from ten to six.",
  },
  { name: "recipes", description: "家常菜的做法：红烧肉怎么做，炖多久", title: "红烧肉", text: "红烧肉要用小火炖九十分钟，最后收汁。" },
];
/** Held side by side. */
const AT_A_TIME = 10;

const conversations = readConversations();
const problems = new Map<Conversation, string[]>();

/** The offline model answers; what embeds is the built-in embedder behind a server, which can go away. */
async function openPlace() {
  const embedder = makeHashedEmbedder({});
  let isAway = false;
  const server = await startHttpServer((request, response) => {
    void (async () => {
      const { input } = await readJson<{ input: string[] }>(request);
      if (isAway) return response.writeHead(503).end("{}");
      const data = (await embedder.embedPassages(input)).map((embedding, index) => ({ object: "embedding", index, embedding }));
      return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ object: "list", data }));
    })();
  });
  const service = await openTestService({
    ENABLE_EPISODIC_MEMORY: "true",
    ENABLE_CORE_MEMORY: "true",
    EMBEDDING_BASE_URL: `${server.origin}/v1`,
    EMBEDDING_MODEL: "hashed",
    EMBEDDING_DIMENSIONS: String(embedder.dimensions),
    MEMORY_READ_TIMEOUT_MS: "10000",
  });
  const knowledge = makeKnowledgeClient(service.url);
  for (const { name, description, title, text } of BASES) {
    await knowledge.put(name, { description });
    await knowledge.add(name, { title, text });
    await knowledge.settled(name);
  }
  return {
    url: service.url,
    isEmbedderAway: () => isAway,
    takeEmbedderAway: () => void (isAway = true),
    bringEmbedderBack: () => void (isAway = false),
    close: () => service.close().finally(() => server.close()),
  };
}

beforeAll(async () => {
  const place = await openPlace();
  const hold = async (one: Conversation) => void problems.set(one, await holdConversation(one, place));
  const whole = conversations.filter(({ group }) => group !== "degraded");
  for (let start = 0; start < whole.length; start += AT_A_TIME) await Promise.all(whole.slice(start, start + AT_A_TIME).map(hold));
  place.takeEmbedderAway();
  const degraded = conversations.filter(({ group }) => group === "degraded");
  await Promise.all(degraded.slice(0, -1).map(hold));
  await Promise.all(degraded.slice(-1).map(hold)); // brings it back
  await place.close();
});

describe.each([...new Set(conversations.map(({ group }) => group))])("in a whole conversation (%s),", (group) => {
  test.each(conversations.filter((one) => one.group === group).map((one) => [one.title, one] as const))("%s", (_title, conversation) =>
    expect(problems.get(conversation)).toEqual([]),
  );
});

test("the file of conversations holds fifty", () => expect(conversations).toHaveLength(50));
