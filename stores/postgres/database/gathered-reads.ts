import { createHash } from "node:crypto";
import { type Database, queryRow, type StatementValue } from "./database.ts";

/** A read of one JSON value that can share its statement with others. */
export interface GatheredRead<Result> {
  /** Always goes with the same SQL. */
  name: string;
  /** SQL: an expression of type json; `place(1)` is the place of the first value. */
  json: (place: (number: number) => string) => string;
  values: readonly StatementValue[];
  toResult: (json: unknown) => Result;
}

interface Waiting {
  read: GatheredRead<unknown>;
  resolve: (json: unknown) => void;
  reject: (error: unknown) => void;
}

/** Postgres tells names apart by their first 63 characters. */
const LONGEST_NAME = 63;

function nameOf(reads: readonly GatheredRead<unknown>[]): string {
  const name = reads.map((read) => read.name).join("+");
  return name.length <= LONGEST_NAME ? name : `gathered-${createHash("sha256").update(name).digest("hex").slice(0, 16)}`;
}

async function run(database: Database, reads: readonly GatheredRead<unknown>[]): Promise<unknown[]> {
  const values: StatementValue[] = [];
  const columns = reads.map(({ json, values: own }, position) => {
    const before = values.length;
    values.push(...own);
    return `(${json((number) => `$${before + number}`)}) as "${position}"`;
  });
  const name = nameOf(reads);
  const row = await queryRow<Record<string, unknown>>(database, { name, text: `select ${columns.join(", ")}`, values });
  return reads.map((_, position) => row[position]);
}

async function answerAll(database: Database, gathered: Waiting[]): Promise<void> {
  const waiting = gathered.sort((one, other) => (one.read.name < other.read.name ? -1 : 1));
  const reads = waiting.map(({ read }) => read);
  const together = waiting.length > 1 ? await run(database, reads).catch(() => null) : null;
  waiting.forEach(({ read, resolve, reject }, position) => {
    if (together) resolve(together[position]);
    else run(database, [read]).then(([json]) => resolve(json), reject);
  });
}

type Gatherer = (waiting: Waiting) => void;

function makeGatherer(database: Database): Gatherer {
  let open = new Map<string, Waiting>();
  return function gather(waiting) {
    const { name } = waiting.read;
    if (open.size === 0 || open.has(name)) {
      const begun = new Map<string, Waiting>();
      open = begun;
      setImmediate(() => {
        if (open === begun) open = new Map();
        void answerAll(database, [...begun.values()]);
      });
    }
    open.set(name, waiting);
  };
}

const gatherers = new WeakMap<Database, Gatherer>();

/**
 * Joins the reads of one round of the event loop into one statement: the nodes of a turn begin side by side. If it fails, each read is
 * tried alone.
 */
export async function readGathered<Result>(database: Database, read: GatheredRead<Result>): Promise<Result> {
  const gather = gatherers.get(database) ?? makeGatherer(database);
  gatherers.set(database, gather);
  const json = await new Promise((resolve, reject) => gather({ read, resolve, reject }));
  return read.toResult(json);
}
