import { rawFetch } from "../turn/contenders.ts";
import { askService, type LayersAtWork, makeLayersAtWork, type MemoryService, startMemoryService } from "../service/memory-service.ts";
import { type MemoryStores, startMemoryStores } from "../service/memory-stores.ts";
import { allJobsDone, questionOf, seedKnowledge, seedUsers } from "../service/memory-users.ts";
import type { Progress } from "../progress.ts";
import type { StreamTimes } from "../read-stream.ts";

export interface LoadContender {
  name: string;
  turn(stream: number, turn: number): Promise<StreamTimes>;
  services: readonly MemoryService[];
  layers: LayersAtWork;
  /** Waits until its jobs are done. */
  settle(): Promise<void>;
}

export const RAW = "raw model call";
export const streamsOf = (streams: number): string => (streams === 1 ? "1 stream" : `${streams} streams`);
const PREFIX = "load";
const EXCHANGES = 8;

function rawContender(modelUrl: string): LoadContender {
  const raw = rawFetch(modelUrl);
  return {
    name: RAW,
    turn: (stream) => raw.turn("", `Stream ${stream}: please answer with forty words.`),
    services: [],
    layers: makeLayersAtWork(),
    settle: async () => undefined,
  };
}

function serviceContender(name: string, services: readonly MemoryService[]): LoadContender {
  const layers = makeLayersAtWork();
  const urls = services.map(({ url }) => url);
  return {
    name,
    async turn(stream, turn) {
      const asked = await askService(urls[stream % urls.length] ?? "", questionOf(PREFIX, stream, turn));
      layers.count(asked.result);
      return asked;
    },
    services,
    layers,
    settle: async () => void (await allJobsDone(urls[0] ?? "")),
  };
}

/**
 * The raw model call, and this service as one process on PGlite, as one on a real Postgres, and as two that share another; each with
 * `streams` users who have a history.
 */
export async function openLoadContenders(
  modelUrl: string,
  streams: number,
  opened: AsyncDisposableStack,
  progress: Progress,
): Promise<{ contenders: LoadContender[]; stores: MemoryStores }> {
  const stores = await startMemoryStores(opened);
  const start = async (name: string, environments: Record<string, string>[]): Promise<LoadContender> => {
    const services: MemoryService[] = [];
    for (const environment of environments) {
      const service = await startMemoryService(name, modelUrl, environment);
      opened.defer(() => service.process.stop());
      services.push(service);
    }
    return serviceContender(name, services);
  };
  const shared = await stores.open();
  const contenders = [
    await start("one process, PGlite", [{ DATA_DIR: "memory://" }]),
    await start("one process, Postgres", [await stores.open()]),
    await start("two processes, Postgres", [shared, shared]),
  ];
  progress.step(`bringing in ${streams} users for each`);
  await Promise.all(
    contenders.map(async (contender) => {
      const url = contender.services[0]?.url ?? "";
      await seedKnowledge(url);
      await seedUsers(url, { prefix: PREFIX, count: streams, exchanges: EXCHANGES });
      await contender.settle();
    }),
  );
  return { contenders: [rawContender(modelUrl), ...contenders], stores };
}
