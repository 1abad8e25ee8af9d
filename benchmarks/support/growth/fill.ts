import { rebuildIndex } from "../../../memory/episodes/rebuild-index.ts";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import { migrate } from "../../../stores/postgres/database/migrate.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { Exchange } from "../dialogues/generate-dialogues.ts";
import { type ConversationsToLoad, loadConversations } from "../dialogues/load-conversations.ts";
import { postApi, putApi } from "../service/memory-service.ts";
import { eightAtATime, historyOf, seedCoreMemory, seedKnowledge } from "../service/memory-users.ts";

/** How much a service holds. */
export type Held = Record<"exchanges" | "messages" | "conversations" | "agents" | "bases" | "tools", number>;

const MUCH: Held = { exchanges: 20_000, messages: 10_000, conversations: 5_000, agents: 200, bases: 100, tools: 1_000 };

/** What the same turns need. Two bases: the only one would be found without a search. */
export const LITTLE: Held = { exchanges: 40, messages: 40, conversations: 20, agents: 1, bases: 2, tools: 5 };

/** Even numbers: messages come in pairs. */
export function much(percent: number): Held {
  const part = (whole: number, least: number): number => Math.max(least, 2 * Math.round((whole * percent) / 200));
  const parts = Object.entries(MUCH).map(([what, whole]) => [what, part(whole, LITTLE[what as keyof Held])]);
  return Object.fromEntries(parts) as Held;
}

/** Messages that a summary leaves to the window. */
const UNCOVERED = 6;
const EXCHANGES_OF_CONVERSATION = 500;
const USERS = ["recalling", "talking", "beginning", "ordinary"].map((user) => `${user}-0`);

function conversationsOf({ exchanges, messages, conversations }: Held): ConversationsToLoad[] {
  const count = Math.ceil(exchanges / EXCHANGES_OF_CONVERSATION);
  return [
    { user: "recalling", ofOneUser: true, count, messages: 2 * Math.ceil(exchanges / count), uncovered: null },
    { user: "recalling", count: 1, messages: 40, uncovered: UNCOVERED },
    { user: "talking", count: 1, messages, uncovered: UNCOVERED },
    { user: "beginning", ofOneUser: true, count: conversations, messages: 2, uncovered: null },
    { user: "ordinary", ofOneUser: true, count: 4, messages: 40, uncovered: UNCOVERED },
  ];
}

/** Writes conversations into an empty database, and indexes their exchanges as a reindex does. */
export async function fillDatabase(
  url: string,
  sample: Exchange[],
  held: Held,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const database = await openPostgres(url);
  opened.defer(() => database.close());
  await migrate(database);
  await loadConversations(url, sample, conversationsOf(held));
  const store = await openPostgresSearchStore(database);
  const { signal } = new AbortController();
  await rebuildIndex({ database, store, embedder: makeHashedEmbedder({}), timeZone: "UTC", onProgress, signal });
}

const MATTERS =
  "invoices,visas,boilers,permits,crews,insurance,timetables,spare parts,inspections,catering,uniforms,ferries,fuel,waste,alarms,leases,guides,tickets,livestock,archives";
const PLACES = "harbour,airport,vineyard,quarry,observatory,brewery,orchard,tannery,foundry,lighthouse";

function subjectOf(number: number): string {
  const [matters, places] = [MATTERS.split(","), PLACES.split(",")];
  return `${matters[number % matters.length]} of the ${places[Math.floor(number / matters.length) % places.length]}`;
}

/** The agent with tools of MCP servers. */
export const CLERK = "clerk";
const desk = (number: number): string => `desk-${number}`;
/** One of the other agents; its name is its keyword. */
export const DESK = desk(0);
/** All turns find their documents here. */
export const BASE = "handbook";

/** Three tools in all. The patterns ask every server for its list. */
const TOOLS = [0, 1, 2].map((number) => `mcp__*__tool-${number}`);

/** Gives a service its knowledge bases with documents, its agents, and core memory of its users. */
export async function fillService(url: string, { agents, bases }: Held): Promise<void> {
  await seedKnowledge(url);
  for (const user of USERS) await seedCoreMemory(url, user);
  await eightAtATime(bases - 1, async (number) => {
    const [name, subject] = [`manual-${number}`, subjectOf(number)];
    await putApi(url, `/knowledge/${name}`, { description: `The ${subject}`, keywords: [name] });
    const text = `# The ${subject}\n\n${historyOf(number, 3).map(({ content }) => content).join("\n\n")}`; // prettier-ignore
    await postApi(url, `/knowledge/${name}/documents`, { title: `The ${subject}`, text });
  });
  await eightAtATime(agents, (number) => {
    const subject = subjectOf(number);
    const instructions = `You look after the ${subject}. Answer in short sentences, and name the papers that are needed.`;
    return putApi(url, `/agents/${desk(number)}`, {
      description: `Looks after the ${subject}`,
      instructions,
      keywords: [desk(number)],
      knowledge: BASE,
    });
  });
  const permissions = [{ tool: "mcp__*", action: "allow" }];
  await putApi(url, `/agents/${CLERK}`, { description: "Asks the registers", tools: TOOLS, permissions, knowledge: BASE });
}
