import { v7 as uuidv7 } from "uuid";
import type { OwnedConversation, OwnerScope } from "../../../turn/owner.ts";
import type { Database } from "../database/database.ts";
import { fittingSql, OWNED_ID, ownedValues } from "../database/sql-parts.ts";
import type { AnswerValue, QuestionType } from "../../../turn/question.ts";
import { KEEP_RULINGS } from "./decision-store.ts";
import { onPathSql, pathOf, sourcesSql } from "../paths/branch-path.ts";
import { storableJson } from "../../../text/storable-text.ts";
import type { Cost } from "../../../turn/usage.ts";
import type { Echo } from "../../../turn/echo.ts";
import type { WaitingState } from "../../../turn/resumed-turn.ts";
import type { HeldTurn } from "../turns/recover-turn.ts";
import { QUESTION_CHANNEL } from "../turns/question-rows.ts";

export type StepKind = "model" | "tool" | "question" | "plan" | "compaction" | "agent";

/** One thing that a turn did. `endedAt` is null while it runs, and for ever when its process died. */
export interface Step {
  seq: number;
  agent: string;
  /** The agents from the one that answers the turn to this one. */
  path: string[];
  /** The `seq` of the step that gave the task. 0: it belongs to the agent that answers the turn. */
  task: number;
  kind: StepKind;
  name: string;
  callId: string | null;
  arguments: unknown;
  output: string | null;
  echo: Echo | null;
  ok: boolean | null;
  tokens: number;
  startedAt: Date;
  endedAt: Date | null;
}

/**
 * What decided about a call without a person: a permission (`allow_always`: somebody allowed the tool for good), a rule by its name, or an
 * answer to its question.
 */
export type Ruling =
  | { type: "permission"; answer: "allow" | "allow_always" | "deny" }
  | { type: "permission"; answer: "refuse" | "correct" | "deny"; rule: string }
  | { type: QuestionType; answer: AnswerValue; question: string };

export interface NewStep {
  seq: number;
  agent: string;
  /** See Step. Default: the agent alone, which answers the turn. */
  path?: readonly string[];
  task?: number;
  kind: StepKind;
  name: string;
  callId?: string | undefined;
  arguments?: unknown;
  output?: string | undefined;
  /** The fields that the model's server wants back with this answer. */
  echo?: Echo | undefined;
  tokens?: number;
  /** The milliseconds it took. Undefined: it begins now. */
  ms?: number | undefined;
  /** Kept for the audit. */
  ruling?: Ruling | undefined;
}

/** A step of a turn that answered, or tried to answer, this question. */
export interface StepOfMessage extends Step {
  userMessageId: string;
  turnId: string;
}

/** What another process needs to go on with the turn when its lease of `leaseMs` has ended. */
export interface GoesOn {
  state: WaitingState;
  leaseMs: number;
}

/** `isMore`: another one follows. */
export type ListedStep = Step & { isMore: boolean };

/** What an agent did in a turn. */
export interface AgentRun {
  /** The `seq` of the step that gave the task; 0: it answered the turn. */
  task: number;
  /** The agents from the lead to this one. */
  path: readonly string[];
  ok: boolean;
  toolCalls: number;
  tokens: number;
  cost: Cost;
  ms: number;
}

export interface NotedAgent {
  name: string;
  interaction: string;
  state: string | null;
  run: AgentRun;
}

export interface StepStore {
  /**
   * Stores steps before they run, and what the turn needs to go on behind them. Safe to repeat after a lost reply. False, and none may
   * run: the turn no longer holds its conversation, or another process has taken it over.
   */
  begin(turn: HeldTurn, steps: readonly NewStep[], goesOn?: GoesOn): Promise<boolean>;
  /** False when another process has taken the turn over. */
  end(turn: HeldTurn, step: { seq: number; output: string; ok: boolean; tokens: number }): Promise<boolean>;
  /** Counts the agent's part in the conversation, and stores what it did in the turn. */
  noteAgent(turn: HeldTurn, agent: NotedAgent): Promise<void>;
  /** Steps after `after` by `seq`, as many as fit into a page. */
  list(scope: OwnerScope, turnId: string, page: { after: number; limit: number }): Promise<ListedStep[]>;
  /** Steps of all turns of these user messages on the path, in order. */
  ofMessages(conversation: OwnedConversation, userMessageIds: readonly string[]): Promise<StepOfMessage[]>;
  /** Steps in the order of the turns, as many as fit into a page. */
  ofTurns(conversation: OwnedConversation, turnIds: readonly string[]): Promise<(StepOfMessage & ListedStep)[]>;
  agents(conversation: OwnedConversation): Promise<AgentOfConversation[]>;
}

export interface AgentOfConversation {
  agent: string;
  interactionCount: number;
  lastInteractionType: string;
  lastInteractionAt: Date;
  stateDescription: string | null;
}

const COLUMNS = `seq, agent, coalesce(path, array[agent]) as path, coalesce(task, 0) as task, kind, turn_steps.name, call_id as "callId", arguments, output, echo, ok, tokens, turn_steps.started_at as "startedAt",
  turn_steps.ended_at as "endedAt"`;

/** $1 to $3 are the conversation's, $4 is the turn. */
const held = (runner: string): string => `
  select id from conversations where id = $1 and tenant_id = $2 and user_id = $3 and turn_id = $4 and turn_runner is not distinct from ${runner}::uuid and turn_lease_until < 'infinity' for update`;

const BEGIN = `
with held as (${held("$6")}), given as (
  select * from json_to_recordset($5::json) as step(seq int, agent text, path text[], task int, kind text, name text, call_id text, arguments jsonb, output text, echo json, tokens int, ms float8, ruling jsonb, ruling_id uuid)
), stored as (
  insert into turn_steps (turn_id, seq, conversation_id, agent, path, task, kind, name, call_id, arguments, output, echo, ok, tokens, started_at, ended_at, runner)
  select $4, seq, held.id, agent, path, task, kind, name, call_id, arguments, output, echo, case when ms is not null then true end, tokens,
    clock_timestamp() - coalesce(ms, 0) * interval '1 millisecond', case when ms is not null then clock_timestamp() end, $6::uuid
  from held cross join given
  on conflict (turn_id, seq) do update set runner = excluded.runner
  returning 1
), before as (
  select turns.id, resume is null as is_first from turns join held on held.id = conversation_id where turns.id = $4 and $7::jsonb is not null
), goes_on as (
  update turns set resume = $7::jsonb from before where turns.id = before.id
), answered as (
  update questions set resume = null from before where questions.turn_id = before.id and questions.resume is not null
), told as (
  select pg_notify('${QUESTION_CHANNEL}', $8::float8::text) from before where is_first
), ${KEEP_RULINGS}
select (select count(*) from told) from held where (select count(*) from stored) = (select count(*) from given)`;

const END = `
with held as (${held("$9")})
update turn_steps set output = $5, ok = $6, tokens = $7, ended_at = clock_timestamp()
from held where turn_steps.turn_id = $4 and seq = $8 and conversation_id = held.id
returning seq`;

const NOTE_AGENT = `
with held as (${held("$8")}), run as (
  insert into agent_runs (turn_id, task, agent, conversation_id, tenant_id, path, ok, tool_calls, tokens, input_usd, output_usd, ms, started_at)
  select $4, task, $5, held.id, $2, path, ok, "toolCalls", tokens, input_usd, output_usd, round(ms), clock_timestamp() - ms * interval '1 millisecond'
  from held cross join json_to_record($9::json) as given (task int, path text[], ok boolean, "toolCalls" int, tokens int, cost json, ms float8)
    cross join json_to_record(coalesce(cost, '{}')) as priced (input_usd float8, output_usd float8)
  on conflict (turn_id, task, agent) do update
  set path = excluded.path, ok = excluded.ok, tool_calls = excluded.tool_calls, tokens = excluded.tokens, input_usd = excluded.input_usd,
    output_usd = excluded.output_usd, ms = excluded.ms, started_at = excluded.started_at
)
insert into conversation_agents as noted (conversation_id, agent, interaction_count, last_interaction_type, last_interaction_at, state_description)
select id, $5, 1, $6, clock_timestamp(), $7 from held
on conflict (conversation_id, agent) do update
set interaction_count = noted.interaction_count + 1, last_interaction_type = excluded.last_interaction_type,
  last_interaction_at = excluded.last_interaction_at, state_description = coalesce(excluded.state_description, noted.state_description)`;

const SHOWN = `${COLUMNS}, coalesce(octet_length(output), 0) + coalesce(octet_length(arguments::text), 0)
  + coalesce(octet_length(echo::text), 0) as bytes`;

const OF_TURN = fittingSql(
  `select ${SHOWN} from turn_steps join turns on turns.id = turn_id
  where turn_id = $1 and tenant_id = $2 and ($3::text is null or user_id = $3) and seq > $4
  order by seq limit $5`,
  "seq",
);

/** SQL: whether a turn's branch, and its answer if there is one, belong to the path. */
export const isTurnOnPathSql = `(${pathOf("$1")} is null or ${pathOf("$1")} ? coalesce(turns.branch_id, turns.conversation_id)::text
  and not exists (select from messages answer where answer.id = turns.answer_id and not ${onPathSql("answer", pathOf("$1"))}))`;

const OF_QUESTIONS = `
select ${COLUMNS}, turn_id as "turnId", question_id as "userMessageId" from turn_steps join turns on turns.id = turn_id
where question_id = any($4::uuid[]) and turns.conversation_id in (select id from ${sourcesSql(OWNED_ID, pathOf("$1"))} source) and ${isTurnOnPathSql}
order by turns.started_at, turn_id, seq`;

const OF_TURNS = fittingSql(
  `select ${SHOWN}, turn_id as "turnId", question_id as "userMessageId", array_position($4::uuid[], turn_id) as place
  from turn_steps join turns on turns.id = turn_id
  where turn_id = any($4::uuid[]) and turns.conversation_id in (select id from ${sourcesSql(OWNED_ID, pathOf("$1"))} source)`,
  "place, seq",
);

const AGENTS = `
select agent, interaction_count as "interactionCount", last_interaction_type as "lastInteractionType", last_interaction_at as "lastInteractionAt",
  state_description as "stateDescription"
from conversation_agents where conversation_id = ${OWNED_ID} order by agent`;

/** A step's place among agents, as a row has it: most belong to the one agent of a turn. */
export function placeOf(path: readonly string[] = [], task = 0): { path?: readonly string[]; task?: number } {
  return { ...(path.length > 1 ? { path } : {}), ...(task > 0 ? { task } : {}) };
}

/** What turns did on the way to their answers. */
export function makeStepStore(database: Database): StepStore {
  return {
    async begin(turn, steps, goesOn) {
      const given = steps.map(({ callId, tokens = 0, path, task, ...step }) => {
        return { ...step, ...placeOf(path, task), call_id: callId, tokens, ruling_id: step.ruling && uuidv7() };
      });
      const resume = goesOn ? [storableJson(goesOn.state), goesOn.leaseMs] : [null, null];
      const values = [...ownedValues(turn), turn.turnId, storableJson(given), turn.runner ?? null, ...resume];
      return (await database.query({ name: "steps-begin", text: BEGIN, values })).length === 1;
    },
    async end(turn, { seq, output, ok, tokens }) {
      const values = [...ownedValues(turn), turn.turnId, output, ok, tokens, seq, turn.runner ?? null];
      return (await database.query({ name: "step-end", text: END, values })).length === 1;
    },
    async noteAgent(turn, { name, interaction, state, run }) {
      const values = [...ownedValues(turn), turn.turnId, name, interaction, state, turn.runner ?? null, JSON.stringify(run)];
      await database.query({ name: "agent-note", text: NOTE_AGENT, values });
    },
    list({ tenantId, userId }, turnId, { after, limit }) {
      return database.query({ name: "steps-list", text: OF_TURN, values: [turnId, tenantId, userId, after, limit] });
    },
    ofMessages(conversation, userMessageIds) {
      return database.query({
        name: "steps-of-questions",
        text: OF_QUESTIONS,
        values: [...ownedValues(conversation), [...userMessageIds]],
      });
    },
    async ofTurns(conversation, turnIds) {
      if (turnIds.length === 0) return [];
      return database.query({ name: "steps-of-turns", text: OF_TURNS, values: [...ownedValues(conversation), [...turnIds]] });
    },
    agents: (conversation) => database.query({ name: "agents-of-conversation", text: AGENTS, values: ownedValues(conversation) }),
  };
}
