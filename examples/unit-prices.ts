import {
  createConversationGraph,
  makeDocumentStore,
  makeHashedEmbedder,
  makeKnowledgeBaseStore,
  makeKnowledgeHandlers,
  migrate,
  OfflineChatModel,
  openEmbeddedPostgres,
  openEpisodicMemory,
  openPostgresSearchStore,
  runMemoryJobs,
  startTurn,
} from "conversation-graph";
import handlersByPrefix from "./handlers.js";

// A knowledge base that calculates: prices come from a CSV file, the sum from the handler, and no model can get it wrong.
const PRICES = `article,unit,price in euros
M4 screw,box of 100,7.50
M6 screw,box of 100,9.20
Wall plug 8 mm,bag of 50,4.10
Cable tie 200 mm,bag of 100,3.40`;

const database = await openEmbeddedPostgres("memory://");
await migrate(database);
const memory = await openEpisodicMemory({ database, store: await openPostgresSearchStore(database), embedder: makeHashedEmbedder({}) });
const jobs = await runMemoryJobs({ database, summaryModel: null, episodicMemory: memory });
const knowledge = makeKnowledgeBaseStore(database);
const documents = makeDocumentStore(database);
const handlers = makeKnowledgeHandlers(handlersByPrefix);

const place = { tenantId: "default", prefix: "prices" };
await knowledge.put(place.tenantId, {
  prefix: place.prefix,
  description: "Price list of screws and fixings",
  keywords: ["price", "how much"],
});
const list = { title: "Price list", contentType: "text/csv", bytes: new TextEncoder().encode(PRICES), externalId: null, metadata: {} };
await documents.add(place, list);
for (let status = "pending"; status === "pending"; await new Promise((resolve) => setTimeout(resolve, 50))) {
  status = (await documents.list(place, { limit: 1, after: null })).items[0]?.status ?? "failed";
}

const graph = createConversationGraph({
  database,
  chatModel: new OfflineChatModel(),
  knowledge,
  documents: { find: memory.findPassages },
  handlers,
});
for (const message of ["How much are 12 boxes of M4 screws?", "How much is a cable tie?"]) {
  const turn = startTurn(graph, { userId: "ada", sessionId: "first", message });
  for await (const event of turn.events()) {
    if (event.status === "token") process.stdout.write(event.content);
    if (event.status === "notice") process.stdout.write(`[${event.content.message}] `);
    if (event.status === "done") console.log(`\n(${event.content.receipt.passages.map(({ title }) => title).join(", ")})`);
  }
}

await jobs.stop();
await database.close();
