import { setTimeout as sleep } from "node:timers/promises";
import { talk, type Exchange } from "../../../test/hard/chaos/chaos-users.ts";
import { insist } from "../../../test/support/clients/insist.ts";
import { sendAndStay, type Network, type Whims } from "../../../test/servers/real-client.ts";
import { makeSeededRandom } from "../../../test/support/samples/seeded-random.ts";

const TALKERS = 6;
const VISITORS = 3;
const LONGEST_PAUSE_MS = 2_000;
/** A talker is somebody else after this, so that nobody's memory grows beyond that of a user. */
const SHORTEST_STAY_MS = 30_000;
const LONGEST_STAY_MS = 90_000;
const IMPORTED_TURNS = 10;
const DOCUMENTS = 5;

/** What everybody did, gathered while they do it. */
export interface SoakDeeds {
  /** Of users who are still there. */
  exchanges: Exchange[];
  /** Of users who have been erased, of whom nothing may be left. */
  erasedExchanges: Exchange[];
  erased: string[];
  counts: { imports: number; recalls: number; recalled: number; documents: number; erasedConversations: number; erasedUsers: number };
  /** What must not be, in words. */
  wrongs: string[];
}

const json = (method: string, body: unknown): { method: string; headers: Record<string, string>; body: string } => ({
  method,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

/** Everybody at once until `isOver`: talkers like real clients, visitors who import, ask, recall and are mostly erased, and a librarian with documents. */
export async function useService(network: Network, seed: number, isOver: () => boolean): Promise<SoakDeeds> {
  const deeds: SoakDeeds = {
    exchanges: [],
    erasedExchanges: [],
    erased: [],
    counts: { imports: 0, recalls: 0, recalled: 0, documents: 0, erasedConversations: 0, erasedUsers: 0 },
    wrongs: [],
  };
  const { counts } = deeds;

  /** One after another until the end; what one could not do is told, and the next has a try. */
  async function again(visit: (round: number) => Promise<void>): Promise<void> {
    for (let round = 0; !isOver(); round++) await visit(round).catch((error: unknown) => void deeds.wrongs.push(String(error)));
  }

  async function talker(slot: number): Promise<void> {
    const random = makeSeededRandom(seed + slot);
    await again(async (round) => {
      const until = performance.now() + SHORTEST_STAY_MS + random(LONGEST_STAY_MS - SHORTEST_STAY_MS);
      const isGone = (): boolean => isOver() || performance.now() > until;
      const said = await talk(network, `talker ${slot} ${round}`, seed + 100 * round + slot, isGone, { longestPauseMs: LONGEST_PAUSE_MS });
      deeds.exchanges.push(...said);
    });
  }

  async function say(userId: string, number: number, fields: object, random: (below: number) => number, whims?: Whims): Promise<Exchange> {
    const key = `${userId.replaceAll(" ", "-")}-${number}`;
    const sessionId = `${userId} live`;
    const body = { user_id: userId, session_id: sessionId, message: `Message ${key}`, ...fields };
    const exchange: Exchange = {
      ...{ key, body, userId, sessionId, text: body.message, hasCompany: false, isPlain: whims === undefined, reports: [] },
    };
    exchange.reports.push(await sendAndStay(network, exchange, random, whims));
    return exchange;
  }

  async function visitor(slot: number): Promise<void> {
    const random = makeSeededRandom(seed + 1_000 + slot);
    await again(async (round) => {
      const userId = `visitor ${slot} ${round}`;
      const user = `/api/v1/users/${encodeURIComponent(userId)}`;
      const messages = Array.from({ length: 2 * IMPORTED_TURNS }, (_, index) => ({
        role: index % 2 === 0 ? "user" : "assistant",
        content: `${index % 2 === 0 ? "Asked" : "Told"} long ago: ${userId.replaceAll(" ", "-")}-imported-${Math.floor(index / 2)}`,
        created_at: new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString(),
        metadata: { external_id: String(index) },
      }));
      const sent = json("POST", { user_id: userId, session_id: `${userId} imported`, messages });
      const imported = await insist<{ conversation_id: string }>(network, "/api/v1/conversations/import", sent, random);
      if (imported.status !== 200) deeds.wrongs.push(`an import was answered with ${imported.status}: ${imported.text}`);
      counts.imports++;
      const exchanges: Exchange[] = [];
      for (let turn = 0; turn < 3 + random(4); turn++) {
        // One who leaves without a word stops the answer.
        exchanges.push(await say(userId, turn, {}, random, random(5) === 0 ? { goesAfter: 1 + random(10) } : undefined));
        await sleep(random(LONGEST_PAUSE_MS));
      }
      const query = encodeURIComponent(`${userId.replaceAll(" ", "-")}-imported-3`);
      const recalled = await insist<{ episodes: unknown[] }>(network, `${user}/episodes?query=${query}`, {}, random);
      counts.recalls++;
      if (recalled.status === 200 && recalled.json.episodes.length > 0) counts.recalled++;
      if (random(3) === 0) {
        const gone = await insist(network, `/api/v1/conversations/${imported.json.conversation_id}`, { method: "DELETE" }, random);
        // Not found: an answer that was lost had erased it.
        if (![200, 202, 404].includes(gone.status)) deeds.wrongs.push(`a conversation's erase was answered with ${gone.status}`);
        counts.erasedConversations++;
      }
      if (random(3) === 0) return void deeds.exchanges.push(...exchanges);
      const gone = await insist(network, user, { method: "DELETE" }, random);
      if (![200, 202].includes(gone.status)) deeds.wrongs.push(`a user's erase was answered with ${gone.status}: ${gone.text}`);
      counts.erasedUsers++;
      deeds.erased.push(userId);
      deeds.erasedExchanges.push(...exchanges);
    });
  }

  async function librarian(): Promise<void> {
    const random = makeSeededRandom(seed + 2_000);
    await insist(network, "/api/v1/knowledge/travel", json("PUT", { description: "where trains go" }), random);
    await again(async (round) => {
      const text = `# Line ${round % DOCUMENTS}\n\n${Array.from({ length: 20 }, (_, stop) => `Stop ${stop} of round ${round}: trains leave every ${1 + random(50)} minutes.`).join("\n\n")}`;
      const document = json("POST", { title: `Line ${round % DOCUMENTS}`, text, external_id: String(round % DOCUMENTS) });
      const taken = await insist(network, "/api/v1/knowledge/travel/documents", document, random);
      if (taken.status !== 202) deeds.wrongs.push(`a document was answered with ${taken.status}: ${taken.text}`);
      counts.documents++;
      await sleep(random(2 * LONGEST_PAUSE_MS));
      deeds.exchanges.push(await say(`reader ${Math.floor(round / 20)}`, round, { kb_prefix: "travel" }, random));
      await sleep(random(2 * LONGEST_PAUSE_MS));
    });
  }

  const numbers = (count: number): number[] => Array.from({ length: count }, (_, slot) => slot);
  await Promise.all([...numbers(TALKERS).map(talker), ...numbers(VISITORS).map(visitor), librarian()]);
  deeds.wrongs.push(...deeds.erasedExchanges.flatMap(({ reports }) => reports.flatMap(({ violations }) => violations)));
  return deeds;
}
