import { AppError } from "../../../errors/app-error.ts";
import type { Database, Queryable } from "../../../stores/postgres/database/database.ts";

/** How a statement ends for the process that sent it: `fails_after` and `dies_after` are committed, and the acknowledgement is lost. */
export type Ending = "done" | "fails_before" | "fails_after" | "dies_before" | "dies_after";

interface GatedWork<Result> {
  name: string;
  whole: () => Promise<Result>;
  /** The work without its effect: a transaction that is rolled back. */
  undone?: () => Promise<void>;
}

export type Gate = ReturnType<typeof makeGate>;

/**
 * Stops a process before each of its statements until the driver of a test lets it go on. `onEffect` gets the name of all that was done.
 */
export function makeGate(onEffect: (name: string) => void = () => undefined) {
  let mode: "guarded" | "free" | "closed" = "free";
  let dead = false;
  let atGate: { name: string; end: (ending: Ending) => void } | null = null;
  let quiet = Promise.withResolvers<void>();
  let whenClosed = Promise.withResolvers<never>();
  whenClosed.promise.catch(() => undefined);

  async function workAndTell<Result>({ name, whole }: GatedWork<Result>): Promise<Result> {
    const result = await whole();
    onEffect(name);
    return result;
  }

  const gate = {
    async pass<Result>(work: GatedWork<Result>): Promise<Result> {
      if (mode === "free") return work.whole();
      if (mode === "closed") throw new Error("this process is gone");
      if (atGate) throw new Error(`${work.name} comes to the gate while ${atGate.name} waits there: a process does one thing at a time`);
      const opened = Promise.withResolvers<Ending>();
      atGate = { name: work.name, end: opened.resolve };
      quiet.resolve();
      const ending = await Promise.race([opened.promise, whenClosed.promise]);
      if (ending === "done") return workAndTell(work);
      if (ending.endsWith("before")) await work.undone?.().catch(() => undefined);
      else await workAndTell(work).catch(() => undefined);
      if (ending.startsWith("fails")) throw new AppError("storage_unavailable", `${work.name} ${ending}`);
      dead = true;
      quiet.resolve();
      return whenClosed.promise;
    },
    rest: () => quiet.resolve(),
    /** Runs `cause` and waits until the process is at the gate, rests or is dead. */
    async untilQuiet(cause: () => void): Promise<void> {
      quiet = Promise.withResolvers();
      cause();
      await quiet.promise;
    },
    async open(ending: Ending): Promise<void> {
      const here = atGate;
      if (!here) throw new Error("nothing waits at the gate");
      atGate = null;
      await gate.untilQuiet(() => here.end(ending));
    },
    waiting: (): string | null => atGate?.name ?? null,
    isDead: (): boolean => dead,
    revive: () => void (dead = false),
    /** `closed`: everything fails, also what waits and what the dead had begun. */
    set(next: typeof mode): void {
      mode = next;
      if (next !== "closed") return;
      atGate = null;
      dead = false;
      whenClosed.reject(new Error("this process is gone"));
      whenClosed = Promise.withResolvers();
      whenClosed.promise.catch(() => undefined);
    },
  };
  return gate;
}

const ROLLBACK = new Error("rolled back by the test");

/** The database as one process sees it: each statement and each transaction, as one, waits at its gate. */
export function makeGatedDatabase(database: Database, gate: Gate): Database {
  return {
    ...database,
    query: <Row>(statement: Parameters<Queryable["query"]>[0]) =>
      gate.pass({ name: statement.name ?? statement.text, whole: () => database.query<Row>(statement) }),
    transaction: (work) =>
      gate.pass({
        name: "transaction",
        whole: () => database.transaction(work),
        undone: () =>
          database.transaction(async (transaction) => {
            await work(transaction);
            throw ROLLBACK;
          }),
      }),
  };
}
