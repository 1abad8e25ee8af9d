import { startProxy } from "./proxy-connections.ts";

/** `before`: the statement never reaches Postgres. `after`: it is carried out, and its reply is lost. */
export interface Blow {
  when: "before" | "after";
  /** The statement, counted from 1. */
  at: number;
  strike: (statement: string) => void;
}

export type StatementProxy = Awaited<ReturnType<typeof startStatementProxy>>;

/** The name of a prepared statement in node-postgres' message, else the beginning of its text. */
function nameOf(bytes: Buffer): string {
  const [kind, text] = [String.fromCharCode(bytes[0] ?? 0), bytes.toString("latin1", 5)];
  const [first = "", second = ""] = text.split("\0", 2);
  if (kind === "B") return second;
  return (kind === "P" && first) || (kind === "Q" ? first : second).trim().slice(0, 30);
}

/** Stands between one process and Postgres, and strikes once, at the statement that a blow names. */
export async function startStatementProxy(targetUrl: string) {
  let blow: Blow | null = null;
  let seen = 0;
  const proxy = await startProxy(targetUrl, (client, upstream) => {
    let held: (() => void) | null = null; // what happens instead of the next reply
    client.on("data", (bytes) => {
      if (blow && ++seen === blow.at) {
        const { when, strike } = blow;
        const name = nameOf(bytes);
        blow = null;
        if (when === "before") return strike(name);
        held = () => strike(name);
      }
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => (held ? held() : client.write(bytes)));
    upstream.on("close", () => client.destroy());
  });
  return {
    ...proxy,
    /** Counts statements from here on. */
    arm(next: Blow): void {
      [blow, seen] = [next, 0];
    },
    disarm: () => void (blow = null),
  };
}
