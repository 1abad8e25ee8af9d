import { execFile } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { ImageStep } from "./image-file.ts";
import { plainEnvironment } from "./plain-environment.ts";

const run = promisify(execFile);

/** Stands for the image's user, who does not exist here; the tests run as root. */
export const WITHOUT_RIGHTS = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** A stage of the build, and the instructions so far that only say something. */
interface Stage {
  root: string;
  workdir: string;
  environment: Record<string, string>;
  said: Map<string, ImageStep>;
}

export type ImageRoot = Awaited<ReturnType<typeof makeImageRoot>>;

/**
 * Takes the steps of a Dockerfile in folders that stand for the roots of its stages, absolute paths replaced. The base image is this
 * machine: the Node that runs the tests, the shell and npm; `chown` gives the files to the user that stands for the image's.
 */
export async function makeImageRoot(context: string, contextFiles: readonly string[]) {
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-image-"));
  chmodSync(folder, 0o755);
  const tools = path.join(folder, "tools");
  mkdirSync(tools);
  symlinkSync(process.execPath, path.join(tools, "node"));
  const ids = `${WITHOUT_RIGHTS.uid ?? process.getuid?.()}:${WITHOUT_RIGHTS.gid ?? process.getgid?.()}`;
  writeFileSync(path.join(tools, "chown"), `#!/bin/sh\n[ "$1" = node:node ] && exec /bin/chown ${ids} "$2"\n`, { mode: 0o755 });
  const plain = plainEnvironment();
  const base = { ...plain, PATH: `${tools}${path.delimiter}${plain["PATH"] ?? ""}` };

  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  const current = (): Stage => {
    if (!stage) throw new Error("There is no stage before the first FROM.");
    return stage;
  };
  const within = ({ root, workdir }: Stage, file: string): string => path.join(root, path.posix.resolve(workdir, file));
  const place = (absolute: string): string => within(current(), absolute);

  const takers: Record<string, (step: ImageStep) => Promise<void> | void> = {
    FROM({ words: [, , name = "image"] }) {
      stage = { root: path.join(folder, `stage-${stages.size}`), workdir: "/", environment: {}, said: new Map() };
      mkdirSync(stage.root);
      stages.set(name, stage);
    },
    WORKDIR({ text }) {
      current().workdir = path.posix.resolve(current().workdir, text);
      mkdirSync(place("."), { recursive: true });
    },
    ENV({ words }) {
      for (const word of words) current().environment[word.split("=", 1)[0] ?? ""] = word.slice(word.indexOf("=") + 1);
    },
    async RUN({ text }) {
      const led = text.replaceAll(/(?<=^|\s)\/[\w/.-]+/g, place);
      await run("sh", ["-ec", led], { cwd: place("."), env: { ...base, ...environment() }, maxBuffer: 64 * 1024 * 1024 });
    },
    COPY({ words, flags }) {
      const target = words.at(-1) ?? "";
      const into = (file: string): string => (/(^|\/)\.?\/?$/.test(target) ? path.join(place(target), file) : place(target));
      for (const source of words.slice(0, -1)) {
        const from = flags["from"] === undefined ? undefined : stages.get(flags["from"]);
        if (flags["from"] !== undefined && !from) throw new Error(`There is no stage "${flags["from"]}".`);
        if (from) {
          const given = within(from, source);
          cpSync(given, statSync(given).isDirectory() ? place(target) : into(path.basename(source)), {
            recursive: true,
            verbatimSymlinks: true,
          });
          continue;
        }
        const files = contextFiles.filter((file) => source === "." || file === source);
        if (files.length === 0) throw new Error(`"${source}" is not among what the build is given.`);
        for (const file of files) cpSync(path.join(context, file), into(file));
      }
    },
  };
  for (const keyword of ["USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "CMD"])
    takers[keyword] = (step) => void current().said.set(keyword, step);

  /** What ENV says, with paths of this machine. */
  function environment(): Record<string, string> {
    const said = Object.entries(current().environment).map(([name, value]) => [name, value.startsWith("/") ? place(value) : value]);
    return { PATH: base.PATH, ...(Object.fromEntries(said) as Record<string, string>) };
  }

  return {
    async take(step: ImageStep): Promise<void> {
      const taker = takers[step.keyword];
      if (!taker) throw new Error(`This test does not know the instruction ${step.keyword}.`);
      await taker(step);
    },
    stage: current,
    place,
    environment,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
