import { setTimeout as sleep } from "node:timers/promises";
import {
  createConversationGraph,
  makeHashedEmbedder,
  migrate,
  OfflineChatModel,
  openEmbeddedPostgres,
  openEpisodicMemory,
  openPostgres,
  openPostgresSearchStore,
  runMemoryJobs,
  startTurn,
} from "../../server/index.ts";

// Opens everything, runs turns, closes everything, again and again. It ends by itself when nothing is left open.
const [where = "memory://", times = "20", turns = "1"] = process.argv.slice(2);
const isEmbedded = !where.startsWith("postgres");
const warnings: string[] = [];
process.on("warning", ({ name, message }) => void warnings.push(`${name}: ${message}`));

async function useOnce(): Promise<void> {
  const database = isEmbedded ? await openEmbeddedPostgres(where) : await openPostgres(where);
  await migrate(database);
  const store = isEmbedded ? await openPostgresSearchStore(database) : null;
  const memory = store && (await openEpisodicMemory({ database, store, embedder: makeHashedEmbedder({}) }));
  const jobs = await runMemoryJobs({ database, summaryModel: null, episodicMemory: memory });
  const graph = createConversationGraph({ database, chatModel: new OfflineChatModel(), episodes: memory && { recall: memory.recall } });
  for (let turn = 0; turn < Number(turns); turn++) {
    const { status, content } = await startTurn(graph, { userId: "ada", sessionId: "first", message: `Message ${turn}` }).ended;
    if (status === "error") throw new Error(content.message);
  }
  await jobs.stop(1_000);
  await store?.close();
  await database.close();
}

async function look() {
  await sleep(100);
  globalThis.gc?.();
  await sleep(100);
  globalThis.gc?.();
  const listeners = Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)]));
  const { heapUsed, rss } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo().filter((kind) => kind !== "PipeWrap");
  return { resources, listeners, megabytes: { heapUsed: heapUsed / 2 ** 20, rss: rss / 2 ** 20 } };
}

await useOnce();
await useOnce();
const early = await look();
for (let time = 2; time < Number(times); time++) await useOnce();
const late = await look();
process.stdout.write(`${JSON.stringify({ early, late, warnings })}\n`);
