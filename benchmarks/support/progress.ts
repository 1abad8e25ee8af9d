import cliProgress from "cli-progress";

export interface Progress {
  /** `name` says what is counted. Without a total the step has unknown length. */
  step(name: string, done?: number, total?: number): void;
}

export interface RunProgress {
  begin(bench: string): Progress;
  end(): void;
}

const LINE_EVERY_MS = 30_000;

const howFar = (done?: number, total?: number): string => (total === undefined ? "" : `, ${done ?? 0} of ${total}`);

function linesOf(count: number): RunProgress {
  let place = 0;
  return {
    begin(bench) {
      const began = performance.now();
      const head = `[${++place}/${count}] ${bench}`;
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
    },
    end: () => undefined,
  };
}

interface Shown {
  place: string;
  bench: string;
  step: string;
  of: string;
}

/** "█████░░░ [2/11] turn: round, 3 of 25 · 40s left": the rest of the step. */
const toLine: cliProgress.GenericFormatter = (options, { progress, eta, value, total }, { place, bench, step, of }: Shown) => {
  const isTold = value > 0 && value < total && Number.isFinite(eta);
  const left = isTold ? ` · ${cliProgress.Format.TimeFormat(eta, options, 5)} left` : "";
  return `${cliProgress.Format.BarFormat(progress, options)} ${place} ${bench}: ${step}${of}${left}`;
};

/** One bar on the terminal, below whatever is printed. */
function barOf(count: number): RunProgress {
  const bar = new cliProgress.SingleBar({ format: toLine, hideCursor: true, barsize: 24, fps: 5 }, cliProgress.Presets.rect);
  const wipe = (): void => void process.stderr.write("\r\u001b[K");
  const print = process.stdout.write.bind(process.stdout);
  process.stdout.write = ((...written: Parameters<typeof print>) => {
    if (bar.isActive) wipe();
    return print(...written);
  }) as typeof print;
  let place = 0;
  return {
    begin(bench) {
      const shown = { place: `[${++place}/${count}]`, bench };
      let current = "";
      const step = (name: string, done?: number, total?: number): void => {
        const line: Shown = { ...shown, step: name, of: howFar(done, total) };
        if (name === current) bar.update(done ?? 0, line);
        else bar.start(total ?? 1, done ?? 0, line);
        current = name;
      };
      step("starting");
      return { step };
    },
    end() {
      bar.stop();
      wipe();
      process.stdout.write = print;
    },
  };
}

export function showRunProgress(count: number): RunProgress {
  return process.stderr.isTTY ? barOf(count) : linesOf(count);
}
