import pg from "pg";
import type { Database, Statement, StatementValue } from "../../../../stores/postgres/database/database.ts";

/** A node of a plan, as `explain (format json, analyze)` gives it. Row counts are per loop. */
export interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

/** `custom` plans for these very values, `generic` for any: a server does the first at the beginning and may do the second from the sixth time on. */
export type PlanMode = "custom" | "generic";

function toLiteral(value: StatementValue): string {
  if (value === null) return "null";
  if (value instanceof Date) return pg.escapeLiteral(value.toISOString());
  if (typeof value === "object") throw new Error("a list is not expected here");
  return pg.escapeLiteral(String(value));
}

/** Every node of the plan by which a real Postgres runs a statement, the nodes of subqueries too. Runs it, and takes it back. */
export async function explainStatement(database: Database, { text, values = [] }: Statement, mode: PlanMode): Promise<PlanNode[]> {
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

function withChildren(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(withChildren)];
}

/** How many rows a node looked at, those that it threw away included. */
export function rowsReadBy(node: PlanNode): number {
  const removed = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
  return (node["Actual Rows"] + removed) * node["Actual Loops"];
}
