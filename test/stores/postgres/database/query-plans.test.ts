import { beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { v7 as uuidv7 } from "uuid";
import type { Database, Statement, StatementValue } from "../../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { makeConversationStore } from "../../../../stores/postgres/conversations/conversation-store.ts";
import { makeMessageStore } from "../../../../stores/postgres/conversations/message-store.ts";
import { makeThreadStore } from "../../../../stores/postgres/turns/thread-store.ts";
import { makeSummaryStore } from "../../../../stores/postgres/memory/summary-store.ts";
import { makeWindowStore } from "../../../../stores/postgres/turns/window-store.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { recordStatements } from "../../../support/databases/record-statements.ts";
import { placeOf, storeConversation, summariseThrough } from "../../../support/databases/stored-conversation.ts";
import type { OwnedConversation } from "../../../../turn/owner.ts";

/** A node of a plan, as `explain (format json, analyze)` gives it. Row counts are per loop. */
interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

/**
 * `custom` plans for these very values, `generic` for any: a server does the first at the beginning and may do the second from the sixth
 * time on.
 */
type PlanMode = "custom" | "generic";

function toLiteral(value: StatementValue): string {
  if (value === null) return "null";
  if (value instanceof Date) return pg.escapeLiteral(value.toISOString());
  if (typeof value === "object") throw new Error("a list is not expected here");
  return pg.escapeLiteral(String(value));
}

/** Every node of the plan by which a real Postgres runs a statement, the nodes of subqueries too. Runs it, and takes it back. */
async function explainStatement(database: Database, { text, values = [] }: Statement, mode: PlanMode): Promise<PlanNode[]> {
  const takeBack = new Error("taken back");
  let nodes: PlanNode[] = [];
  await database
    .transaction(async (transaction) => {
      await transaction.query({ text: `set local plan_cache_mode = force_${mode}_plan` });
      await transaction.query({ text: `prepare explained as ${text}` });
      const execute = `execute explained${values.length === 0 ? "" : `(${values.map(toLiteral).join(", ")})`}`;
      const [row] = await transaction.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>({ text: `explain (analyze, format json) ${execute}` });
      await transaction.query({ text: "deallocate explained" });
      nodes = (row?.["QUERY PLAN"] ?? []).flatMap(({ Plan }) => withChildren(Plan));
      throw takeBack;
    })
    .catch((error: unknown) => {
      if (error !== takeBack) throw error;
    });
  return nodes;
}

const withChildren = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(withChildren)];

/** How many rows a node looked at, those that it threw away included. */
function rowsReadBy(node: PlanNode): number {
  const removed = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
  return (node["Actual Rows"] + removed) * node["Actual Loops"];
}

const LENGTH = 20_000;
const OTHERS = 150;
const LENGTH_OF_OTHERS = 100;

/** Conversations of this length: one whose summary is up to date, one whose is somewhat late, one whose has only begun, one without any. */
type Kind = "covered" | "late" | "behind" | "uncovered";
const COVERED_THROUGH: Record<Kind, number | null> = { covered: LENGTH - 10, late: LENGTH - 500, behind: 10, uncovered: null };

describe(`statements over conversations of ${LENGTH} messages among others on real Postgres`, () => {
  const database = useTestPostgres();
  const conversations = {} as Record<Kind, OwnedConversation>;
  let short: OwnedConversation;
  beforeAll(async () => {
    for (const [kind, through] of Object.entries(COVERED_THROUGH) as [Kind, number | null][]) {
      conversations[kind] = await storeConversation(database, { count: LENGTH, tokenCount: 10 });
      if (through !== null) await summariseThrough(database, conversations[kind], through);
    }
    const others = await Promise.all(Array.from({ length: OTHERS }, () => storeConversation(database, { count: LENGTH_OF_OTHERS })));
    short = others[0] as OwnedConversation;
    await database.query({ text: "analyze" });
  });

  /** The statements of this work that read messages, as the stores send them. */
  async function statementsOf(work: (recorded: Database) => Promise<unknown>): Promise<Statement[]> {
    const { database: recorded, statements } = recordStatements(database);
    await work(recorded);
    const reading = statements.filter(({ text }) => text.includes("messages"));
    expect(reading).not.toHaveLength(0);
    return reading;
  }

  const loadWindow = (kind: Kind, atLeast: number) => (recorded: Database) =>
    makeWindowStore(recorded).load({
      ...conversations[kind],
      exceptMessageId: uuidv7(),
      atLeast,
      maxTokens: 201 * 14 + 1, // one page more than the first
      useSummary: true,
    });
  const readBacklog = (kind: Kind) => (recorded: Database) => makeSummaryStore(recorded).readBacklog(conversations[kind], 206);
  const count = (kind: Kind) => (recorded: Database) =>
    recorded.transaction((transaction) => makeSummaryStore(recorded).lockAndCount(transaction, conversations[kind], 11));
  const listBehind = (number: number) => async (recorded: Database) => {
    const after = number === 0 ? null : await placeOf(database, conversations.uncovered, number);
    return makeMessageStore(recorded).list(conversations.uncovered, { limit: 50, after });
  };
  const listNewest = (limit: number) => (recorded: Database) =>
    makeMessageStore(recorded).list(conversations.uncovered, { limit, after: null }, "newest_first");

  // The most rows that one statement may look at.
  const works: [string, (recorded: Database) => Promise<unknown>, number][] = [
    ["the window behind a summary that is up to date", loadWindow("covered", 6), 10],
    ["the window that reaches back before the cover point", loadWindow("covered", 30), 30],
    ["the window behind a summary that is somewhat late", loadWindow("late", 6), 300],
    ["the window of a conversation without a summary", loadWindow("uncovered", 6), 1_001],
    ["the window behind a summary that is far behind", loadWindow("behind", 6), 1_001],
    ["the backlog of a conversation without a summary", readBacklog("uncovered"), 206],
    ["the backlog behind a summary that is far behind", readBacklog("behind"), 206],
    ["the backlog behind a summary that is up to date", readBacklog("covered"), 10],
    ["the count of a conversation without a summary", count("uncovered"), 11],
    ["the count behind a summary that is far behind", count("behind"), 11],
    ["the count behind a summary that is up to date", count("covered"), 10],
    ["the first page of the list of messages", listBehind(0), 51],
    ["a page in the middle of the list of messages", listBehind(LENGTH / 2), 51],
    ["the last page of the list of messages", listBehind(LENGTH - 20), 20],
    ["what ten states of LangGraph's history are made of", listNewest(233), 234],
  ];
  const modes: PlanMode[] = ["custom", "generic"];

  describe.each(modes)("with a %s plan", (mode) => {
    test.each(works)("%s goes by the index in order, and looks at no more rows than it needs", async (_name, work, most) => {
      for (const statement of await statementsOf(work)) {
        const nodes = await explainStatement(database, statement, mode);
        const ran = nodes.filter((node) => node["Actual Loops"] > 0); // not what only a fork looks at; pictures are sorted for messages that have some
        const onMessages = ran.filter((node) => node["Relation Name"] === "messages");
        expect(onMessages.map((node) => [node["Node Type"], node["Index Name"]])).toEqual([
          [expect.stringMatching(/^Index (Only )?Scan$/), "messages_in_order"],
        ]);
        expect(onMessages.map(rowsReadBy).filter((rows) => rows > most)).toEqual([]);
        const sorted = ran.filter((node) => node["Node Type"] === "Sort").map(rowsReadBy); // the own messages beside those that a fork shares
        expect(sorted.filter((rows) => rows > most)).toEqual([]);
        expect(ran.map((node) => node["Node Type"]).filter((type) => type.includes("Bitmap"))).toEqual([]);
      }
    });
  });

  test.each([
    ["a page of the list of messages", (on: Database) => makeMessageStore(on).list(short, { limit: 5, after: null })],
    ["the newest messages of the list", (on: Database) => makeMessageStore(on).list(short, { limit: 5, after: null }, "newest_first")],
    ["the backlog of a summary", (on: Database) => makeSummaryStore(on).readBacklog(short, 5)],
    [
      "the count of what no summary covers",
      (on: Database) => on.transaction((transaction) => makeSummaryStore(on).lockAndCount(transaction, short, 5)),
    ],
  ] as [string, (on: Database) => Promise<unknown>][])(
    "%s in a short conversation is planned for good on a connection, not with each call",
    async (_name, work) => {
      const takeBack = new Error("taken back");
      const counts: unknown[] = [];
      await using opened = new AsyncDisposableStack();
      const another = await openPostgres(database.url); // its connection has planned nothing yet
      opened.defer(() => another.close());
      await another
        .transaction(async (connection) => {
          await connection.query({ text: "alter table messages alter conversation_id set (n_distinct = 2); analyze messages" }); // as if all were long
          const alone: Database = { ...another, query: (statement) => connection.query(statement), transaction: (run) => run(connection) };
          const text = "select name, custom_plans from pg_prepared_statements where statement like '%messages%' order by name";
          for (let time = 1; time <= 12; time++) {
            await work(alone);
            // The first five times are planned for their values: https://www.postgresql.org/docs/current/sql-prepare.html
            if (time >= 6) counts.push(await connection.query({ text }));
          }
          throw takeBack;
        })
        .catch((error: unknown) => {
          if (error !== takeBack) throw error;
        });
      expect(counts[0]).not.toEqual([]);
      expect(counts).toEqual(counts.map(() => counts[0]));
    },
  );

  test("no statement is compiled: that takes longer than any of them", async () => {
    expect(await database.query({ text: "select current_setting('jit') as jit" })).toEqual([{ jit: "off" }]);
  });

  test("the window of a conversation without a summary is read in two pages, the second by its own statement", async () => {
    const names = (await statementsOf(loadWindow("uncovered", 6))).map(({ name }) => name);
    expect(names).toEqual(["window-newest", "window-older"]);
  });
});

describe("the look-up of a thread whose id its client has chosen, by a key of the tenant, among 50,000 conversations", () => {
  const database = useTestPostgres();
  const [scope, chosen] = [{ tenantId: "tenant", userId: null }, uuidv7()];
  beforeAll(async () => {
    const columns = "id, tenant_id, user_id, session_id, last_message_at, created_at, updated_at";
    const row = "gen_random_uuid(), 'tenant', 'user ' || n % 5000, case n when 1 then $1 else 'session ' || n end, now(), now(), now()";
    const text = `insert into conversations (${columns}) select ${row} from generate_series(1, 50000) n`;
    await database.query({ text, values: [`thread:${chosen}`] });
    await database.query({ text: "analyze conversations" });
  });

  test.each<[string, (on: Database) => Promise<{ sessionId: string } | null>]>([
    ["a conversation", (on) => makeConversationStore(on).find(scope, chosen)],
    ["a thread", (on) => makeThreadStore(on).find(scope, chosen)],
  ])("as %s is one statement that goes by an index", async (_name, find) => {
    const { database: recorded, statements } = recordStatements(database);
    expect(await find(recorded)).toMatchObject({ sessionId: `thread:${chosen}` });
    expect(statements).toHaveLength(1);
    for (const mode of ["custom", "generic"] as const) {
      const nodes = await explainStatement(database, statements[0] as Statement, mode);
      const scans = nodes.filter((node) => node["Relation Name"] === "conversations");
      expect(scans.length).toBeGreaterThan(0);
      expect(scans.filter((node) => node["Node Type"].includes("Seq") || rowsReadBy(node) > 2)).toEqual([]);
    }
  });
});
