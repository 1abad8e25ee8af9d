import { shownArguments } from "../../../text/tool-arguments.ts";
import type { AnsweredBy, AnswerValue, QuestionType } from "../../../turn/question.ts";
import type { Owner } from "../../../turn/owner.ts";
import { type Page, type PageRequest, toPage } from "../../page.ts";
import type { Database, Queryable } from "../database/database.ts";
import { isBeforeCursor, pageValues } from "../database/sql-parts.ts";

/** What somebody, or a rule, decided about a turn. */
export interface Decision {
  id: string;
  /** Null after an erase, like `turnId`, `question`, `text` and answers that are no permission. */
  conversationId: string | null;
  turnId: string | null;
  type: Exclude<QuestionType, "client_tool">;
  agent: string;
  question: string | null;
  tool: { name: string; arguments: unknown } | null;
  answer: AnswerValue;
  text: string | null;
  by: AnsweredBy;
  /** The name of the rule that refused or corrected the call. Null after an erase, too. */
  rule: string | null;
  createdAt: Date;
}

export interface DecisionStore {
  /** Newest first. */
  list(owner: Owner, page: PageRequest): Promise<Page<Decision>>;
}

/** SQL: a CTE that keeps the answers of the questions in `closed`, unless they were decided before. */
export const KEEP_ANSWERS = `decided as (
  insert into decisions (id, tenant_id, user_id, conversation_id, turn_id, seq, type, agent, question, tool, arguments, answer, answer_text, decided_by, created_at)
  select closed.id, tenant_id, user_id, closed.conversation_id, closed.turn_id, seq, type, agent, content->>'question', content#>>'{tool,name}', content#>'{tool,arguments}',
    answer, answer_text, answered_by, answered_at
  from closed join conversations on conversations.id = closed.conversation_id
  where answered_by in ('person', 'timeout') and type <> 'client_tool'
  on conflict do nothing
)`;

/** SQL: a CTE that keeps a rule's decisions about the calls in `given`, of the turn $4. */
export const KEEP_RULINGS = `ruled as (
  insert into decisions (id, tenant_id, user_id, conversation_id, turn_id, seq, type, agent, question, tool, arguments, answer, decided_by, rule, created_at)
  select ruling_id, $2, $3, held.id, $4, seq, ruling->>'type', agent, ruling->>'question', case when ruling->>'type' = 'permission' then name end,
    case when ruling->>'type' = 'permission' then arguments end, nullif(ruling->'answer', 'null'), 'rule', ruling->>'rule', clock_timestamp()
  from held cross join given where ruling is not null
  on conflict do nothing
)`;

const LIST = `
select id, conversation_id as "conversationId", turn_id as "turnId", type, agent, question, tool as "toolName", arguments, answer, answer_text as text, decided_by as by, rule,
  created_at as "createdAt"
from decisions where tenant_id = $1 and user_id = $2 and ${isBeforeCursor(3)}
order by created_at desc, id desc limit $5`;

interface DecisionRow extends Omit<Decision, "tool"> {
  toolName: string | null;
  arguments: unknown;
}

function toDecision({ toolName, arguments: given, ...row }: DecisionRow): Decision {
  if (toolName === null) return { ...row, tool: null };
  return { ...row, tool: { name: toolName, arguments: typeof given === "string" ? shownArguments({ arguments: given }) : given } };
}

export function makeDecisionStore(database: Database): DecisionStore {
  return {
    async list({ tenantId, userId }, page) {
      const values = [tenantId, userId, ...pageValues(page)];
      return toPage((await database.query<DecisionRow>({ name: "decisions-list", text: LIST, values })).map(toDecision), page.limit);
    },
  };
}

export type ErasedDecisions = { conversationIds?: readonly string[]; turnIds?: readonly string[] };

const IS_ERASED =
  "tenant_id = $1 and user_id = $2 and ($4::uuid[] is null or conversation_id = any($4)) and ($5::uuid[] is null or turn_id = any($5))";

/** Decisions that must be kept lose all but who allowed what. */
const ERASE = `
with kept as (
  update decisions set conversation_id = null, turn_id = null, seq = null, question = null, answer_text = null, rule = null,
    answer = case when type = 'permission' then answer end, erased_at = coalesce(erased_at, clock_timestamp())
  where ${IS_ERASED} and created_at > clock_timestamp() - $3::int * interval '1 day'
)
delete from decisions where ${IS_ERASED} and created_at <= clock_timestamp() - $3::int * interval '1 day'`;

/** Erases decisions. Those of the last `keepDays` days stay, without their words. */
export async function eraseDecisions(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  keepDays: number,
  { conversationIds, turnIds }: ErasedDecisions = {},
): Promise<void> {
  const values = [tenantId, userId, keepDays, conversationIds ? [...conversationIds] : null, turnIds ? [...turnIds] : null];
  await transaction.query({ name: "erase-decisions", text: ERASE, values });
}

const REMOVE_KEPT = "delete from decisions where erased_at is not null and created_at <= clock_timestamp() - $1::int * interval '1 day'";

/** Removes decisions that an erase kept, after so many days. */
export async function removeKeptDecisions(database: Database, keepDays: number): Promise<void> {
  await database.query({ name: "decisions-remove", text: REMOVE_KEPT, values: [keepDays] });
}
