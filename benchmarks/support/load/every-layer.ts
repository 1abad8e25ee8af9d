import { type LayersAtWork, makeLayersAtWork, startMemoryService } from "./memory-service.ts";
import { allJobsDone, questionOf, seedKnowledge, seedUsers } from "./memory-users.ts";
import type { Contender } from "../turn-contenders.ts";

/** So many that those who ask side by side are others, and that nobody's history grows much. */
const USERS = 40;
const EXCHANGES = 20;

/** This service with something of every layer of memory in each prompt: users with a history, sections of core memory, documents. */
export async function everyLayer(
  name: string,
  modelUrl: string,
  environment: Record<string, string>,
): Promise<Contender & { layers: LayersAtWork }> {
  const service = await startMemoryService(name, modelUrl, environment);
  await seedKnowledge(service.url);
  await seedUsers(service.url, { prefix: "turn", count: USERS, exchanges: EXCHANGES });
  await allJobsDone(service.url);
  const layers = makeLayersAtWork();
  const userOf = new Map<string, number>();
  let asked = 0;
  return {
    name,
    layers,
    async turn(session) {
      const number = userOf.get(session) ?? userOf.size % USERS;
      userOf.set(session, number);
      const { user, session: own, message } = questionOf("turn", number, asked);
      const { result, ...times } = await service.ask({ user, session: own, message: `${message} (${asked++})` });
      layers.count(result);
      return times;
    },
    cpuMs: () => service.process.cpuMs(),
    settle: () => allJobsDone(service.url).then(() => undefined),
    close: () => service.process.stop(),
  };
}
