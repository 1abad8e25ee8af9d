import { AppError } from "../../../errors/app-error.ts";

/**
 * How a statement ends for the process that asked for it: it works; it fails, without or with having done its work (the connection was
 * lost before the acknowledgement); or the process dies before or after it.
 */
export type Ending = "done" | "fails_before" | "fails_after" | "dies_before" | "dies_after";

/** What waits at a gate. */
export interface GatedWork<Result> {
  /** Names it for `effects`. */
  name: string;
  whole: () => Promise<Result>;
  /** Does it without effect: a transaction that is rolled back. */
  undone?: () => Promise<void>;
}

/** Stops a process before each of its statements until the driver of a test lets it go on, so that every interleaving can be had again. */
export interface Gate {
  pass<Result>(work: GatedWork<Result>): Promise<Result>;
  /** To be called by the process when it has nothing to do. */
  rest(): void;
  /** Runs what makes the process do something, until it waits at the gate, rests or is dead. */
  untilQuiet(cause: () => void): Promise<void>;
  /** Lets the waiting work end in this way and waits until the process is quiet again. */
  open(ending: Ending): Promise<void>;
  /** The name of what waits, or null. */
  waiting(): string | null;
  isDead(): boolean;
  /** A new process takes the place of the dead one. */
  revive(): void;
  /** `guarded`: as told above. `free`: everything passes. `closed`: everything fails, also what waits and what the dead had begun. */
  set(mode: "guarded" | "free" | "closed"): void;
}

/** `onEffect` hears the name of everything that has done its work, acknowledged or not. */
export function makeGate(onEffect: (name: string) => void = () => undefined): Gate {
  let mode: "guarded" | "free" | "closed" = "free";
  let dead = false;
  let atGate: { name: string; end: (ending: Ending) => void } | null = null;
  let quiet = Promise.withResolvers<void>();
  let whenClosed = Promise.withResolvers<never>();
  whenClosed.promise.catch(() => undefined);

  async function workThenTell<Result>({ name, whole }: GatedWork<Result>): Promise<Result> {
    const result = await whole();
    onEffect(name);
    return result;
  }

  function die(): Promise<never> {
    dead = true;
    quiet.resolve();
    return whenClosed.promise;
  }

  const gate: Gate = {
    async pass(work) {
      if (mode === "free") return work.whole();
      if (mode === "closed") throw new Error("this process is gone");
      if (atGate) throw new Error(`${work.name} comes to the gate while ${atGate.name} waits there: a process does one thing at a time`);
      const told = Promise.withResolvers<Ending>();
      atGate = { name: work.name, end: told.resolve };
      quiet.resolve();
      const ending = await Promise.race([told.promise, whenClosed.promise]);
      if (ending === "done") return workThenTell(work);
      if (ending.endsWith("before")) await work.undone?.().catch(() => undefined);
      else await workThenTell(work).catch(() => undefined);
      if (ending.startsWith("dies")) return die();
      throw new AppError("storage_unavailable", `${work.name} ${ending}`);
    },
    rest: () => quiet.resolve(),
    async untilQuiet(cause) {
      quiet = Promise.withResolvers();
      cause();
      await quiet.promise;
    },
    async open(ending) {
      const here = atGate;
      if (!here) throw new Error("nothing waits at the gate");
      atGate = null;
      await gate.untilQuiet(() => here.end(ending));
    },
    waiting: () => atGate?.name ?? null,
    isDead: () => dead,
    revive: () => void (dead = false),
    set(next) {
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
