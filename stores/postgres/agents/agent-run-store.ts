import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import type { Cost } from "../../../turn/usage.ts";
import type { Cursor } from "../../page.ts";
import type { Database } from "../database/database.ts";
import { fittingSql, OWNED_ID, ownedValues } from "../database/sql-parts.ts";
import { onPathSql, pathOf, sourcesSql } from "../paths/branch-path.ts";
import { isTurnOnPathSql } from "./step-store.ts";

/** A task that somebody gave to an agent, and what came of it; each at most 1,000 characters. */
export interface EndedTask {
  input: string;
  output: string;
}

/** What an agent did in a turn. `input` and `output`: of its task, else of the turn. */
export interface RunOfHistory {
  turnId: string;
  task: number;
  path: string[];
  input: string;
  /** Null: there is none. */
  output: string | null;
  toolCalls: number;
  tokens: number;
  ms: number;
  ok: boolean;
  at: Date;
  /** Another one follows. */
  isMore: boolean;
}

/** A place in a history: the time, turn and task of a run. */
export interface RunCursor extends Cursor {
  task: number;
}

interface RunTotals {
  invocations: number;
  /** Null, like the times: there was no run. */
  successRate: number | null;
  tokens: number;
  /** Null: of no run is it known. */
  cost: Cost;
}

export interface AgentStats extends RunTotals {
  /** Runs in which another agent led. */
  asMember: number;
  avgMs: number | null;
  p95Ms: number | null;
  toolCalls: number;
  /** Days of UTC with runs, in order. */
  byDay: (RunTotals & { day: string })[];
}

export interface AgentRunStore {
  /**
   * The last two ended tasks of an agent on the conversation's path, oldest first. Of the turn `turnId` itself only those that had ended when
   * the step `task` began; without it none.
   */
  lastTasks(conversation: OwnedConversation, agent: string, turnId: string, task?: number): Promise<EndedTask[]>;
  /**
   * The agent to which the conversation of a session was handed; null: its turns are routed. `isBusy`: another turn than `turnId` runs in it.
   */
  activeIn(session: Owner & { sessionId: string }, turnId: string | null): Promise<{ agent: string | null; isBusy: boolean }>;
  /** The runs of an agent on the conversation's path, newest first, as many as fit into a page. */
  history(conversation: OwnedConversation, agent: string, page: { limit: number; before: RunCursor | null }): Promise<RunOfHistory[]>;
  /** From `from` to before `to`. */
  stats(tenantId: string, agent: string, period: { from: Date; to: Date }): Promise<AgentStats>;
}

const REMEMBERED_TASKS = 2;
const REMEMBERED_CHARACTERS = 1_000;

/** SQL: the runs of the agent $4 on the path of the owner's conversation, with their turns, questions and tasks. */
const RUNS_ON_PATH = `
from agent_runs runs join turns on turns.id = runs.turn_id join messages asked on asked.id = turns.question_id
left join turn_steps given on given.turn_id = runs.turn_id and given.seq = runs.task
where runs.conversation_id in (select id from ${sourcesSql(OWNED_ID, pathOf("$1"))} source) and runs.agent = $4
  and ${onPathSql("asked", pathOf("$1"))} and ${isTurnOnPathSql}`;

const INPUT_OF_TASK = "coalesce(given.arguments->>'task', '')";

const LAST_TASKS = `
select left(${INPUT_OF_TASK}, ${REMEMBERED_CHARACTERS}) as input, left(coalesce(given.output, ''), ${REMEMBERED_CHARACTERS}) as output
${RUNS_ON_PATH} and runs.task > 0 and given.ended_at is not null
  and (runs.turn_id <> $5 or exists (select from turn_steps mine where mine.turn_id = $5 and mine.seq = $6::int and given.ended_at <= mine.started_at))
order by runs.started_at desc, runs.turn_id desc, runs.task desc limit ${REMEMBERED_TASKS}`;

const HISTORY = fittingSql(
  `select said.*, octet_length(input) + coalesce(octet_length(output), 0) as bytes from (
    select runs.turn_id as "turnId", runs.task, runs.path, case when runs.task = 0 then asked.content else ${INPUT_OF_TASK} end as input,
      case when runs.task = 0 then (select content from messages answer where answer.id = turns.answer_id) else given.output end as output,
      runs.tool_calls as "toolCalls", runs.tokens, runs.ms, runs.ok, runs.started_at as "at"
    ${RUNS_ON_PATH} and ($5::timestamptz is null or (runs.started_at, runs.turn_id, runs.task) < ($5, $6::uuid, $7::int))
    order by runs.started_at desc, runs.turn_id desc, runs.task desc limit $8
  ) said`,
  `"at" desc, "turnId" desc, task desc`,
);

/** A row for all days, first, and one for each. */
const STATS = `
select to_char(day, 'YYYY-MM-DD') as day, count(*)::int as invocations, (count(*) filter (where task > 0 or cardinality(path) > 1))::int as "asMember",
  avg(ok::int)::float8 as "successRate", avg(ms)::float8 as "avgMs", percentile_cont(0.95) within group (order by ms) as "p95Ms",
  coalesce(sum(tool_calls), 0)::float8 as "toolCalls", coalesce(sum(tokens), 0)::float8 as tokens,
  case when count(input_usd) > 0 then json_build_object('input_usd', sum(input_usd), 'output_usd', sum(output_usd)) end as cost
from (
  select agent_runs.*, (started_at at time zone 'UTC')::date as day from agent_runs
  where tenant_id = $1 and agent = $2 and started_at >= $3 and started_at < $4
) runs
group by grouping sets ((), (day)) order by day nulls first`;

const ACTIVE_IN = `
select active_agent as agent, coalesce(turn_id <> $4::uuid and turn_lease_until >= clock_timestamp(), false) as "isBusy" from conversations
where tenant_id = $1 and user_id = $2 and session_id = $3`;

type StatsRow = Omit<AgentStats, "byDay"> & { day: string };

/** What agents did, alone and for others. */
export function makeAgentRunStore(database: Database): AgentRunStore {
  return {
    async lastTasks(conversation, agent, turnId, task) {
      const values = [...ownedValues(conversation), agent, turnId, task ?? null];
      return (await database.query<EndedTask>({ name: "runs-last-tasks", text: LAST_TASKS, values })).reverse();
    },
    async activeIn({ tenantId, userId, sessionId }, turnId) {
      const statement = { name: "runs-active", text: ACTIVE_IN, values: [tenantId, userId, sessionId, turnId] };
      return (await database.query<{ agent: string | null; isBusy: boolean }>(statement))[0] ?? { agent: null, isBusy: false };
    },
    history(conversation, agent, { limit, before }) {
      const place = before ? [before.createdAt, before.id, before.task] : [null, null, null];
      const values = [...ownedValues(conversation), agent, ...place, limit];
      return database.query<RunOfHistory>({ name: "runs-history", text: HISTORY, values });
    },
    async stats(tenantId, agent, { from, to }) {
      const rows = await database.query<StatsRow>({ name: "runs-stats", text: STATS, values: [tenantId, agent, from, to] });
      const [total, ...days] = rows.map(({ day, ...figures }) => ({ day, figures }));
      if (!total) throw new Error("figures without a total");
      const byDay = days.map(({ day, figures: { invocations, successRate, tokens, cost } }) => {
        return { day, invocations, successRate, tokens, cost };
      });
      return { ...total.figures, byDay };
    },
  };
}
