import { v7 as uuidv7 } from "uuid";
import type { OwnedConversation } from "../../turn/owner.ts";
import { makeBranchStore } from "../../stores/postgres/turns/branch-store.ts";
import { makeTurnStore } from "../../stores/postgres/turns/turn-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import type { ConversationsToLoad } from "./dialogues/load-conversations.ts";
import { type Figure, figureOf, makeSamples, ratiosByRound } from "./figures.ts";
import { startModel, startService } from "./start-process.ts";

const [MESSAGES, BRANCHES] = [10_000, 200];
const WINDOW = 6;
const [TIMES, WARM_UP] = [10, 2];
const NAMES = ["without branches", `with ${BRANCHES} branches`] as const;
const labelOf = (part: string, name: string): string => `${part}, ${MESSAGES.toLocaleString("en")} messages, ${name}`;
const userOf = (name: string): string => `conversation ${name}`;

/** Two conversations measured side by side; `measureBranches` branches one. */
export const CONVERSATIONS: ConversationsToLoad[] = NAMES.map((name) => ({
  user: userOf(name),
  count: 1,
  messages: MESSAGES,
  uncovered: WINDOW,
}));

const FIND = `
select conversations.id, array_agg(messages.id order by messages.created_at) as questions
from conversations join messages on conversation_id = conversations.id and role = 'user' where user_id = $1 group by conversations.id`;

/** Edits questions all over a conversation; its first branch becomes active again each time. */
async function addBranches(database: Database, owned: OwnedConversation, questions: readonly string[]): Promise<void> {
  const [turns, branches] = [makeTurnStore(database), makeBranchStore(database)];
  for (let branch = 1; branch < BRANCHES; branch++) {
    const turnId = uuidv7();
    const editOf = questions[(branch * 7_919) % questions.length] ?? null;
    const turn = { ...owned, sessionId: "bench", turnId, leaseMs: 60_000, message: `Other words, ${branch}`, tokenCount: 5, editOf };
    const begun = await turns.begin(turn);
    const answer = { messageId: uuidv7(), content: `Another answer, ${branch}`, completed: true, tokenCount: 5, metadata: {} };
    await turns.finish({ ...owned, turnId }, { ...answer, userMessageId: begun?.messageId ?? "" });
    await branches.activate(owned, owned.conversationId);
  }
}

async function timed(address: string, body?: object, method = body ? "POST" : "GET"): Promise<number> {
  const began = performance.now();
  const init = { method, headers: { "content-type": "application/json" }, ...(body ? { body: JSON.stringify(body) } : {}) };
  const response = await fetch(address, init);
  await response.text();
  if (!response.ok) throw new Error(`${method} ${address}: ${response.status}`);
  return performance.now() - began;
}

/** The times of lists, pages, turns and switches over HTTP, with and without branches. */
export async function measureBranches(database: Database, databaseUrl: string, rounds: number): Promise<Figure[]> {
  await using opened = new AsyncDisposableStack();
  const model = await startModel(opened);
  const service = await startService(model.line, {
    DATABASE_URL: databaseUrl,
    ENABLE_EPISODIC_MEMORY: "false",
    ENABLE_CORE_MEMORY: "false",
  });
  opened.defer(() => service.stop());
  const api = `${service.line}/api/v1`;
  const found = await Promise.all(
    NAMES.map(async (name) => {
      const userId = `${userOf(name)}-0`;
      const [row] = await database.query<{ id: string; questions: string[] }>({ text: FIND, values: [userId] });
      return { name, tenantId: "default", userId, conversationId: row?.id ?? "", questions: row?.questions ?? [] };
    }),
  );
  const branched = found[1];
  if (branched) await addBranches(database, branched, branched.questions);
  await database.query({ text: "analyze" });

  const parts: Record<string, (one: (typeof found)[number]) => Promise<number>> = {
    "first page of conversations": ({ userId }) => timed(`${api}/conversations?user_id=${encodeURIComponent(userId)}`),
    "first page of messages": ({ conversationId }) => timed(`${api}/conversations/${conversationId}/messages`),
    turn: ({ userId }) => timed(`${api}/chat`, { user_id: userId, session_id: "bench", message: "How far is it?" }),
  };
  const samples = makeSamples();
  for (let round = 0; round < rounds + WARM_UP; round++) {
    for (const [part, measure] of Object.entries(parts)) {
      for (const one of round % 2 === 0 ? found : found.toReversed()) {
        for (let time = 0; time < TIMES; time++) {
          const ms = await measure(one);
          if (round >= WARM_UP) samples.add(labelOf(part, one.name), round - WARM_UP, ms);
        }
      }
    }
  }
  const switches: number[] = [];
  const { branches = [] } = (await (await fetch(`${api}/conversations/${branched?.conversationId}/branches`)).json()) as {
    branches?: { id: string }[];
  };
  for (const { id } of branches.slice(0, 40))
    switches.push(await timed(`${api}/conversations/${branched?.conversationId}/active-branch`, { branch_id: id }, "PUT"));

  const figures = Object.keys(parts).flatMap((part) => {
    const [plain, branchy] = NAMES.map((name) => labelOf(part, name));
    if (plain === undefined || branchy === undefined) return [];
    const ratios = ratiosByRound(samples.runs(branchy), samples.runs(plain));
    return [
      samples.figure(plain, "ms"),
      samples.figure(branchy, "ms", { reference: plain }),
      figureOf(`${part} with branches against without`, "times", ratios, { goal: { atMost: 1.5 } }),
    ];
  });
  return [...figures, figureOf(`switch to another branch, ${MESSAGES.toLocaleString("en")} messages`, "ms", [switches])];
}
