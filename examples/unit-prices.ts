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
  type KnowledgeHandler,
} from "conversation-graph";

// A knowledge base that calculates: prices come from a CSV file, the sum from the handler, and no model can get it wrong.
const PRICES = `article,unit,price in euros
M4 screw,box of 100,7.50
M6 screw,box of 100,9.20
Wall plug 8 mm,bag of 50,4.10
Cable tie 200 mm,bag of 100,3.40`;

/** "How much are 12 boxes of M4 screws?": the rows of the price list that fit, and how many of the best one are asked for. */
const unitPrices: KnowledgeHandler = async ({ state, tools, stream }) => {
  const passages = await tools.findPassages(state.message, 3);
  const rows = passages.flatMap((passage) =>
    [...passage.text.matchAll(/article: (.+)\nunit: (.+)\nprice in euros: ([\d.]+)/g)].map(([, article = "", unit = "", price = ""]) => {
      return { article, unit, price: Number(price), passage };
    }),
  );
  const asked = state.message.toLowerCase();
  const wordsOf = (article: string): string[] => article.toLowerCase().split(" ");
  const fits = rows.find(({ article }) => wordsOf(article).every((word) => asked.includes(word)));
  const quantity = Number(/\b(\d+) (?:box|bag|pack|piece)/.exec(asked)?.[1]);
  if (!fits || !quantity) throw new Error("no article or no quantity"); // the general generator answers then
  stream(`${quantity} × ${fits.unit} of ${fits.article} at ${fits.price.toFixed(2)} euros `);
  stream(`is ${(quantity * fits.price).toFixed(2)} euros [1].`);
  return { passages: [fits.passage] };
};

const database = await openEmbeddedPostgres("memory://");
await migrate(database);
const memory = await openEpisodicMemory({ database, store: await openPostgresSearchStore(database), embedder: makeHashedEmbedder({}) });
const jobs = await runMemoryJobs({ database, summaryModel: null, episodicMemory: memory });
const knowledge = makeKnowledgeBaseStore(database);
const documents = makeDocumentStore(database);
const handlers = makeKnowledgeHandlers();
handlers.registerKnowledgeHandler("prices", unitPrices);

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
