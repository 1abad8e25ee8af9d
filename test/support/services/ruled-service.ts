import { callApi, putJson } from "../clients/api-client.ts";
import type { EventStreamResponse } from "../clients/event-client.ts";
import { callOf, ORDER_TOOLS, ordered } from "./asking-agent.ts";
import { allOf, teamClient } from "./asking-team.ts";
import { openServiceWithModel } from "./service-with-model.ts";
import { useTestPostgres } from "../databases/databases.ts";
import { useOpened } from "../use-opened.ts";
import { beforeEach } from "@jest/globals";

export const KEYS = { default: { authorization: "Bearer key-of-default" }, acme: { authorization: "Bearer key-of-acme" } };
const API_KEYS = "key-of-default:default,key-of-acme:acme";

/** An agent of the system. */
const KEEPER = {
  description: "Keeps the books",
  instructions: 'I am "keeper".',
  tools: ["order"],
  permissions: [{ tool: "order", action: "allow" as const }],
  rules: [{ name: "own", when: { arguments: { item: "rum" } }, action: "refuse" as const, message: "No rum." }],
};

export const order = (item: string, id?: string) => callOf("order", { item }, id);

export const rule = (name: string, when: object, action: string, more: object = {}) => {
  return { name, when: { tool: "order", ...when }, action, message: `because of ${name}`, ...more };
};

export const rejections = (turn: Pick<EventStreamResponse, "events">): string[] =>
  allOf(turn, "decision_rejected").map(({ rule: name, action }) => `${name}: ${action}`);

interface Decided {
  answer: string;
  by: string;
  rule: string | null;
  tool: object | null;
}

interface NamedRules {
  rules: { name: string }[];
}

/** A service on Postgres with two tenants, whose agents order things. Each test begins without rules, decisions and permissions. */
export function useRuledService() {
  const database = useTestPostgres();
  const extras = { tools: ORDER_TOOLS, agents: { keeper: KEEPER } };
  const opened = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url, API_KEYS }, { extras }));
  const ruled = {
    database,
    opened,
    get client() {
      return teamClient(opened, KEYS.default);
    },
    putRules: (rules: object[], headers: Record<string, string> = KEYS.default) =>
      putJson<NamedRules>(`${opened.url}/api/v1/rules`, { rules }, headers),
    getRules: async (headers: Record<string, string>) =>
      (await callApi<NamedRules>(`${opened.url}/api/v1/rules`, { headers })).json.rules.map(({ name }) => name),
    decisions: async (): Promise<Decided[]> =>
      (await callApi<{ decisions: Decided[] }>(`${opened.url}/api/v1/users/ada/decisions`, { headers: KEYS.default })).json.decisions,
    /** A turn of the agent `clerk` that orders these items, in one answer. */
    ask: async (rules: object[], items: string[], spec: object = {}, fields: object = {}): Promise<EventStreamResponse> => {
      const { client } = ruled;
      await client.makeTeam({ clerk: { tools: ["order"], permissions: [{ tool: "order", action: "allow" }], rules, ...spec } });
      client.play({ clerk: [items.map((item, index) => order(item, `call_${index}`)), "Done."] });
      return client.ask("clerk", fields);
    },
  };
  beforeEach(async () => {
    opened.model.seen.splice(0);
    ordered.length = 0;
    await ruled.putRules([]);
    for (const table of ["decisions", "permissions"]) await database.query({ text: `delete from ${table}` });
  });
  return ruled;
}
