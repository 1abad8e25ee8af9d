import type { Owner } from "../../../turn/owner.ts";
import type { Database } from "../database/database.ts";

/** The agent to which the conversation of a session was handed; null: its turns are routed. */
export type ReadActiveAgent = (session: Owner & { sessionId: string }) => Promise<string | null>;

const OF_SESSION = "select active_agent as agent from conversations where tenant_id = $1 and user_id = $2 and session_id = $3";

export function makeReadActiveAgent(database: Database): ReadActiveAgent {
  return async function readActiveAgent({ tenantId, userId, sessionId }) {
    const statement = { name: "active-agent", text: OF_SESSION, values: [tenantId, userId, sessionId] };
    return (await database.query<{ agent: string | null }>(statement))[0]?.agent ?? null;
  };
}
