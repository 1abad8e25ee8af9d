import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import type { Exchange } from "./chaos-users.ts";
import { sendAndStay, type ClientReport, type Network } from "../../servers/real-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

interface StoredMessage {
  id: string;
  conversation_id: string;
  role: string;
  content: string;
  completed: boolean;
  created_at: Date;
  turn_id: string | null;
  is_imported: boolean;
}

interface StoredTurn {
  id: string;
  conversation_id: string;
  question_id: string;
  answer_id: string | null;
  error: string | null;
  started_at: Date;
  ended_at: Date | null;
}

const MESSAGES = `
select id, conversation_id, role, content, completed, created_at, metadata->>'turn_id' as turn_id, metadata ? 'external_id' as is_imported
from messages order by conversation_id, created_at, id`;
const TURNS = `
select id, conversation_id, question_id, answer_id, outcome->'error'->>'code' as error, started_at, ended_at from turns order by started_at`;
const WRONG_COUNTS = `
select conversations.id, message_count, count(messages)::int as stored from conversations left join messages on messages.conversation_id = conversations.id
group by conversations.id having message_count <> count(messages)`;
const WRONG_SUMMARIES = `
select summaries.conversation_id, covered_message_count, count(messages)::int as covered
from conversation_summaries summaries left join messages on messages.conversation_id = summaries.conversation_id and completed
  and (messages.created_at, messages.id) <= (covered_through_created_at, covered_through_message_id)
group by summaries.conversation_id having covered_message_count <> count(messages)`;
const HELD = "select id, turn_id, turn_lease_until from conversations where turn_id is not null and turn_lease_until >= clock_timestamp()";

function grouped<Row>(rows: readonly Row[], keyOf: (row: Row) => string): (key: string) => Row[] {
  const groups = Map.groupBy(rows, keyOf);
  return (key) => groups.get(key) ?? [];
}

const isDone = ({ done }: ClientReport): boolean => done !== null;

/** What is wrong with the order of one conversation: each completed answer follows its question, and time only rises. */
function* wrongOrder(messages: readonly StoredMessage[], questionOf: (message: StoredMessage) => string | undefined): Generator<string> {
  let before: StoredMessage | undefined;
  let lastAsked: string | undefined;
  for (const message of messages) {
    if (before && before.created_at >= message.created_at) yield `message ${message.id} is not later than ${before.id}`;
    before = message;
    if (message.is_imported) continue; // without turns
    if (message.role === "user") lastAsked = message.id;
    else if (questionOf(message) === undefined) yield `answer ${message.id} belongs to no question`;
    else if (message.completed && questionOf(message) !== lastAsked) yield `answer ${message.id} does not follow its question`;
  }
}

export async function findWrongs(database: Database, exchanges: readonly Exchange[]): Promise<string[]> {
  const [messages, turns] = [await database.query<StoredMessage>({ text: MESSAGES }), await database.query<StoredTurn>({ text: TURNS })];
  const messageOf = new Map(messages.map((message) => [message.id, message]));
  const turnOf = new Map(turns.map((turn) => [turn.id, turn]));
  const [inConversation, withText] = [grouped(messages, (message) => message.conversation_id), grouped(messages, ({ content }) => content)];
  const attemptsAt = grouped(turns, ({ question_id }) => question_id);
  const wrongs: string[] = [];

  const tellRows = (conversationId: string | undefined): string =>
    [
      ...inConversation(conversationId ?? "").map((message) => JSON.stringify(message)),
      ...turns.filter(({ conversation_id }) => conversation_id === conversationId).map((turn) => JSON.stringify(turn)),
    ].join("\n  ");

  function check(exchange: Exchange): string[] {
    const { key, text, hasCompany, reports } = exchange;
    const found = reports.flatMap(({ violations }) => violations);
    const questions = withText(text).filter(({ role }) => role === "user");
    const answers = questions
      .flatMap(({ id }) => attemptsAt(id))
      .flatMap(({ answer_id }) => (answer_id === null ? [] : [messageOf.get(answer_id)]));
    const completed = answers.filter((answer) => answer?.completed);
    if (questions.length > 1) found.push(`its message is stored ${questions.length} times`);
    if (answers.includes(undefined)) found.push("an answer of one of its attempts is not stored");
    if (completed.length > 1) found.push(`it has ${completed.length} completed answers`);
    if (new Set(reports.filter(isDone).map(({ done }) => done?.message_id)).size > 1) found.push("it was done with different answers");
    for (const { done, failure, cancelled, gone } of reports) {
      if (done) {
        const stored = messageOf.get(done.message_id);
        if (questions.length !== 1) found.push(`it was done, and its message is stored ${questions.length} times`);
        if (!stored?.completed || stored.role !== "assistant" || completed[0] !== stored)
          found.push(`answer ${done.message_id} is not stored as such`);
        if (stored?.content !== done.answer) found.push(`answer ${done.message_id} is stored otherwise than it was told`);
        if (stored?.conversation_id !== done.conversation_id) found.push(`answer ${done.message_id} is in another conversation`);
      } else if (!cancelled && !gone) {
        const hasGoneOn = questions.some(({ created_at, conversation_id }) =>
          inConversation(conversation_id).some((later) => later.created_at > created_at && later.role === "user"),
        );
        const mayGoOn = hasCompany || reports.some((report) => report.gone);
        if (failure !== "turn_superseded" || !mayGoOn || !hasGoneOn) found.push(`it ended with ${failure}`);
      }
    }
    if (found.length === 0) return [];
    const journals = reports.map(({ journal }, index) => `client ${index + 1}:\n  ${journal.join("\n  ")}`).join("\n");
    return [`KEY ${key}: ${found.join("; ")}\n${journals}\nrows:\n  ${tellRows(questions[0]?.conversation_id)}`];
  }

  for (const exchange of exchanges) wrongs.push(...check(exchange));
  for (const [conversationId, rows] of Map.groupBy(messages, (message) => message.conversation_id)) {
    for (const wrong of wrongOrder(rows, ({ turn_id }) => turnOf.get(turn_id ?? "")?.question_id))
      wrongs.push(`CONVERSATION ${conversationId}: ${wrong}\n  ${tellRows(conversationId)}`);
  }
  for (const said of Map.groupBy(exchanges, ({ sessionId }) => sessionId).values()) {
    const expected = said.flatMap(({ text, hasCompany }) => (hasCompany ? [] : withText(text).filter(({ role }) => role === "user")));
    if (expected.some((message, index) => message.created_at < (expected[index - 1]?.created_at ?? message.created_at)))
      wrongs.push(`the messages of ${said[0]?.sessionId} are in another order than they were sent`);
  }
  for (const [what, text] of Object.entries({
    "a wrong message_count": WRONG_COUNTS,
    "a wrong covered_message_count": WRONG_SUMMARIES,
    "a lease": HELD,
  })) {
    for (const row of await database.query<object>({ text })) wrongs.push(`a conversation has ${what}: ${JSON.stringify(row)}`);
  }
  return wrongs;
}

/** Jobs of a killed process come back within 30 s, those that failed are at most 15 s apart. */
const JOBS_DONE_MS = 180_000;

export async function sendAllOnceMore(network: Network, exchanges: readonly Exchange[], random: (below: number) => number): Promise<void> {
  const due = exchanges.filter(({ reports }) => reports.some(({ done, gone }) => done || gone));
  for (const ofOne of Map.groupBy(due, ({ userId }) => userId).values())
    await Promise.all(ofOne.map(async (exchange) => exchange.reports.push(await sendAndStay(network, exchange, random))));
}

const UNDONE =
  "select name, data->>'kind' as kind, state, retry_count, created_on, output from pgboss.job where state <= 'active' limit 10";

/**
 * Waits until no job waits or runs. Resolves with how many milliseconds that took, and with those that are dead or do not end, in words.
 */
export async function waitForJobs(database: Database): Promise<{ jobsDoneMs: number; wrongs: string[] }> {
  const began = performance.now();
  const jobs = makeJobOverview(database);
  const isDone = async (): Promise<boolean> => (await jobs.count(null)).every(({ state }) => state === "dead");
  const undone = await waitUntil("all jobs are done", isDone, JOBS_DONE_MS).then(
    (): string[] => [],
    (error: unknown) => [String(error)],
  );
  if (undone.length > 0) undone.push(...(await database.query<object>({ text: UNDONE })).map((job) => JSON.stringify(job)));
  const dead = await jobs.listDead(10, null);
  return {
    jobsDoneMs: Math.round(performance.now() - began),
    wrongs: [...undone, ...dead.map((job) => `a job is dead: ${JSON.stringify(job)}`)],
  };
}
