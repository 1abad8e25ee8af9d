import { setTimeout as sleep } from "node:timers/promises";
import { sendAndStay, type ClientReport, type KeyedMessage, type Network, type Whims } from "../../servers/real-client.ts";
import { makeSeededRandom } from "../../support/samples/seeded-random.ts";

export interface Exchange extends KeyedMessage {
  userId: string;
  sessionId: string;
  text: string;
  hasCompany: boolean;
  reports: ClientReport[];
}

const TURNS_PER_SESSION = 12;
const LONGEST_PAUSE_MS = 400;

/**
 * One person who talks until `isOver`: most often simply, but also leaves, and mostly comes back, sends twice, stops the answer or sends
 * two messages at once.
 */
export async function talk(network: Network, userId: string, seed: number, isOver: () => boolean): Promise<Exchange[]> {
  const random = makeSeededRandom(seed);
  const exchanges: Exchange[] = [];

  function nextMessage({ hasCompany = false, waits = false } = {}): Exchange {
    const number = exchanges.length;
    const sessionId = `${userId} session ${Math.floor(number / TURNS_PER_SESSION)}`;
    const key = `${userId.replaceAll(" ", "-")}-${number}`;
    const text = `Message ${key}`;
    const asked = { user_id: userId, session_id: sessionId, message: text, on_disconnect: "continue" };
    const body = waits ? { ...asked, on_busy: "enqueue" } : asked;
    const exchange: Exchange = { key, body, userId, sessionId, text, hasCompany, reports: [] };
    exchanges.push(exchange);
    return exchange;
  }

  async function send(exchange: Exchange, whims?: Whims): Promise<void> {
    exchange.reports.push(await sendAndStay(network, exchange, random, whims));
  }

  async function sayOnce(): Promise<void> {
    const chance = random(100);
    if (chance < 36) return send(nextMessage());
    if (chance < 40) return send(nextMessage(), { goesAfter: 1 + random(10) });
    if (chance < 65) return send(nextMessage(), { leaves: [1 + random(20), 1 + random(20)].slice(random(2)), resends: random(2) === 0 });
    if (chance < 80) {
      const message = nextMessage({ waits: random(2) === 0 });
      await Promise.all([send(message), send(message, random(2) === 0 ? { leaves: [1 + random(10)] } : {})]);
      return;
    }
    if (chance < 90) return send(nextMessage(), { cancelsAfter: 1 + random(10), sendsAgain: random(2) === 0 });
    const both = [nextMessage({ hasCompany: true, waits: true }), nextMessage({ hasCompany: true, waits: true })];
    await Promise.all(both.map((message) => send(message)));
  }

  while (!isOver()) {
    await sayOnce();
    await sleep(random(LONGEST_PAUSE_MS));
  }
  return exchanges;
}
