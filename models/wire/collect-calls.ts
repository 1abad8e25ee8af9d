import { v7 as uuidv7 } from "uuid";
import { parseArguments } from "../../text/tool-arguments.ts";
import type { Echo } from "../../turn/echo.ts";
import type { Delta } from "./delta.ts";

/** A call of a tool, as far as the model sent it. `arguments` is its text. */
export interface AskedCall {
  id: string;
  name: string;
  arguments: string;
}

export function makeCallCollector() {
  const calls: AskedCall[] = [];

  /** Some servers send calls without an id, or with the same one. */
  function collected(): AskedCall[] {
    const ids = new Set([""]);
    return calls.map((call) => {
      const id = ids.has(call.id) ? `call_${uuidv7()}` : call.id;
      ids.add(id);
      call.id = id;
      return { ...call };
    });
  }

  return {
    add({ place, id, name, arguments: given }: Extract<Delta, { type: "call" }>): void {
      const call = (calls[place] ??= { id: "", name: "", arguments: "" });
      call.id ||= id;
      call.name += name;
      call.arguments += given;
    },
    collected,
    /** For LangChain's messages. Text that is no JSON stays. */
    asMessage: () => collected().map(({ id, name, arguments: given }) => ({ id, name, args: parseArguments(given) ?? { text: given } })),
    /** An echo whose calls are named by their ids. */
    named(echo: Echo): Echo {
      const ids = collected().map(({ id }) => id);
      const calls = Object.entries(echo.calls ?? {}).map(([place, fields]) => [ids[Number(place)] ?? "", fields] as const);
      return { ...echo, ...(calls.length === 0 ? {} : { calls: Object.fromEntries(calls) }) };
    },
  };
}
