export interface Progress {
  /** `name` says what is counted. Without a total the step has unknown length. */
  step(name: string, done?: number, total?: number): void;
}

const LINE_EVERY_MS = 30_000;

const howFar = (done?: number, total?: number): string => (total === undefined ? "" : `, ${done ?? 0} of ${total}`);

/** Writes a line for each step of `bench`, and another one every 30 seconds of it. */
export function showProgress(bench: string, place: number, count: number): Progress {
  const began = performance.now();
  const head = `[${place}/${count}] ${bench}`;
  let last = { name: "", at: -Infinity };
  process.stderr.write(`${head}\n`);
  return {
    step(name, done, total) {
      const now = performance.now();
      if (name === last.name && now - last.at < LINE_EVERY_MS) return;
      last = { name, at: now };
      process.stderr.write(`${head}: ${name}${howFar(done, total)} (${((now - began) / 1_000).toFixed(0)} s)\n`);
    },
  };
}
