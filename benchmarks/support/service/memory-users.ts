import { setTimeout as sleep } from "node:timers/promises";
import { callApi } from "../../../test/support/clients/api-client.ts";
import type { JobCount } from "../../../stores/jobs/job-overview.ts";
import type { Exchange } from "../dialogues/generate-dialogues.ts";
import { generateDialogues } from "../dialogues/generate-dialogues.ts";
import { postApi, putApi, type Asked } from "./memory-service.ts";

const AT_ONCE = 8;
const LOOK_EVERY_MS = 100;
const LONGEST_MS = 1_800_000;
/** Routes a message to the knowledge base, without asking a model. */
const KEYWORD = "handbook";
const SESSION = "history";

export interface UsersToSeed {
  /** They are called `PREFIX-0`, `PREFIX-1`, … */
  prefix: string;
  from?: number;
  count: number;
  /** With 5 or more the conversation is summarised. */
  exchanges: number;
}

const [dialogue] = generateDialogues({ count: 1, turns: 500 });
const sample: Exchange[] = dialogue?.exchanges ?? [];

/** The exchanges of a generated dialogue, over and over. */
export const exchangeOf = (index: number): Exchange => sample[index % sample.length] ?? { user: "", assistant: "" };

/** Runs `work` for 0 to `count` - 1, eight at a time. */
export async function eightAtATime(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** A knowledge base whose passages are in the prompt of every message of `questionOf`. */
export async function seedKnowledge(url: string): Promise<void> {
  await putApi(url, "/knowledge/handbook", { description: "How to plan a project, a move or a meal", keywords: [KEYWORD] });
  const text = sample.slice(0, 40).map(({ user, assistant }) => `## ${user}\n\n${assistant}`).join("\n\n"); // prettier-ignore
  await postApi(url, "/knowledge/handbook/documents", { title: "Handbook", text });
}

export function historyOf(user: number, exchanges: number): { role: string; content: string }[] {
  return Array.from({ length: exchanges }, (_, index) => exchangeOf(user * 7 + index)).flatMap(({ user: asked, assistant }) => [
    { role: "user", content: asked },
    { role: "assistant", content: assistant },
  ]);
}

export function seedCoreMemory(url: string, user: string): Promise<void> {
  return putApi(url, `/users/${user}/core-memory/profile`, { content: `${user} lives in Lisbon and works for the city library.` });
}

export async function seedUsers(url: string, { prefix, from = 0, count, exchanges }: UsersToSeed): Promise<void> {
  await eightAtATime(count, async (index) => {
    const user = `${prefix}-${from + index}`;
    await postApi(url, "/conversations/import", { user_id: user, session_id: SESSION, messages: historyOf(from + index, exchanges) });
    await seedCoreMemory(url, user);
  });
}

/** A question for which every layer finds something. */
export function questionOf(prefix: string, user: number, turn: number): Asked {
  return { user: `${prefix}-${user}`, session: SESSION, message: `By the ${KEYWORD}: ${exchangeOf(user * 7 + (turn % 5)).user}` };
}

/** Waits for the jobs of these conversations, without looks at the whole queue. Throws when they are not done. */
export async function settleAll(url: string, conversationIds: Iterable<string>): Promise<void> {
  const settle = async (id: string): Promise<void> => {
    const { json } = await callApi<{ settled: boolean }>(`${url}/api/v1/conversations/${id}/settle?timeout_ms=50000`, { method: "POST" });
    if (!json.settled) throw new Error(`the jobs of conversation ${id} of ${url} are not done`);
  };
  await Promise.all(Array.from(conversationIds, settle));
}

/** Waits until no job waits or runs in the service; returns the milliseconds. Throws when a job has failed for good. */
export async function allJobsDone(url: string): Promise<number> {
  const began = performance.now();
  for (;;) {
    const { json } = await callApi<{ jobs: JobCount[] | null }>(`${url}/api/v1/status`);
    if (json.jobs?.some(({ state }) => state === "dead")) throw new Error(`jobs of ${url} failed for good: ${JSON.stringify(json.jobs)}`);
    if (json.jobs?.length === 0) return performance.now() - began;
    if (performance.now() - began > LONGEST_MS) throw new Error(`the jobs of ${url} are not done: ${JSON.stringify(json.jobs)}`);
    await sleep(LOOK_EVERY_MS);
  }
}
