import { type LayersAtWork, makeLayersAtWork, startMemoryService } from "../service/memory-service.ts";
import { allJobsDone, questionOf, seedKnowledge, seedUsers } from "../service/memory-users.ts";
import type { Contender } from "./contenders.ts";

/** So many that streams at once have different users, and that no history grows much. */
const USERS = 40;
const EXCHANGES = 20;

/** Starts this service with users whose prompts have something of every layer: history, core memory, documents. */
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
