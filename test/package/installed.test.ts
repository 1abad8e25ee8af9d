import { execFile, type ChildProcess } from "node:child_process";
import { copyFileSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { listContext } from "./image-file.ts";
import { plainEnvironment, serve } from "./plain-environment.ts";
import { freePort } from "../servers/postgres-server.ts";
import { waitUntil } from "../support/wait-until.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
const env = plainEnvironment();
/** Milliseconds that one test may take on a busy machine; most take a few seconds. */
jest.setTimeout(180_000);

interface Packed {
  filename: string;
  size: number;
  files: { path: string }[];
}

/** `npm pack` with its scripts on a copy of the sources that has a file of an earlier build. */
async function pack(folder: string): Promise<Packed> {
  const sources = path.join(folder, "sources");
  for (const file of [...(await listContext(root)), "README.md", "LICENSE", ".env.example"]) {
    cpSync(path.join(root, file), path.join(sources, file));
  }
  symlinkSync(path.join(root, "node_modules"), path.join(sources, "node_modules"));
  mkdirSync(path.join(sources, "dist"));
  writeFileSync(path.join(sources, "dist/renamed-since.js"), "");
  // What its scripts print comes before.
  const { stdout } = await run("npm", ["pack", "--json", "--silent", "--pack-destination", folder], { cwd: sources, env });
  const [packed] = JSON.parse(stdout.slice(stdout.search(/^\[/m))) as Packed[];
  if (!packed) throw new Error(`npm pack said nothing: ${stdout}`);
  return packed;
}

describe("the package, installed in an empty project", () => {
  let folder: string;
  let project: string;
  let packed: Packed;
  const started: ChildProcess[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-installed-"));
    project = path.join(folder, "project");
    mkdirSync(project);
    writeFileSync(path.join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
    packed = await pack(folder);
    const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", path.join(folder, packed.filename)];
    await run("npm", install, { cwd: project, env, maxBuffer: 64 * 1024 * 1024 });
  }, 600_000);
  afterAll(async () => {
    for (const child of started) child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  const inProject = (program: string, ...given: string[]) => run(program, given, { cwd: project, env });
  const installed = (): string[] => globSync("**/*", { cwd: path.join(project, "node_modules/conversation-graph") }).sort();

  async function serveFrom(command: string[], environment: Record<string, string>) {
    const port = String(await freePort());
    const isUp = async () => (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null))?.ok === true;
    const served = await serve(command, { port, isUp, cwd: project, env: { ...environment, PORT: port } });
    started.push(served.child);
    return { ...served, isUp };
  }

  test("holds what is built from the sources, its licence and its settings, and nothing of development", () => {
    const files = packed.files.map((file) => file.path).sort();
    expect(files.filter((file) => !file.startsWith("dist/"))).toEqual([".env.example", "LICENSE", "README.md", "package.json"]);
    const built = files.filter((file) => /\.(js|ts)$/.test(file) && !/^dist\/(web|server\/http\/openapi\/swagger-ui)\//.test(file));
    expect(built.length).toBeGreaterThan(400);
    const withoutSource = built.filter(
      (file) => !existsSync(path.join(root, file.slice("dist/".length).replace(/(\.d\.ts|\.js)$/, ".ts"))),
    );
    expect(withoutSource).toEqual([]);
    const others = files.filter((file) => file.startsWith("dist/") && !/(\.js|\.d\.ts)$/.test(file));
    const known = /^dist\/(web|stores\/postgres\/migrations|server\/http\/openapi\/swagger-ui)\//;
    expect(others.filter((file) => !known.test(file))).toEqual([]);
    expect(others.filter((file) => /\.(map|ts|tsx|env|log)$/.test(file))).toEqual([]);
    expect(packed.size).toBeLessThan(2 * 1024 * 1024);
  });

  test("brings one zod and one @langchain/core, of the versions that it names", () => {
    const { dependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { dependencies: Record<string, string> };
    for (const name of ["zod", "@langchain/core"]) {
      const found = globSync(`**/node_modules/${name}/package.json`, { cwd: project });
      const versions = found.map((file) => (JSON.parse(readFileSync(path.join(project, file), "utf8")) as { version: string }).version);
      expect(versions).toEqual([dependencies[name]]);
    }
  });

  test("opens and prints nothing when it is imported, needs no environment and lets the process end", async () => {
    const script = `
        const library = await import("conversation-graph");
        const open = process.getActiveResourcesInfo().filter((kind) => kind !== "PipeWrap"); // its own output
        console.log(typeof library.createConversationGraph, open.join());`;
    const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: project, env: {} });
    expect({ stdout, stderr }).toEqual({ stdout: "function \n", stderr: "" });
  });

  test.each([
    { module: "node16", moduleResolution: "node16" },
    { module: "esnext", moduleResolution: "bundler" },
  ])(
    "has sound types under moduleResolution $moduleResolution, those it depends on included, and a misuse does not compile",
    async (resolution) => {
      copyFileSync(`${root}examples/one-turn.ts`, path.join(project, "one-turn.ts"));
      writeFileSync(path.join(project, "all.ts"), 'export * from "conversation-graph";\n');
      const compilerOptions = { ...resolution, target: "es2023", strict: true, skipLibCheck: false, noEmit: true, types: ["node"] };
      const misuse =
        'import { startTurn } from "conversation-graph";\nstartTurn({} as never, { userId: "a", sessionId: "b", message: 3 });\n';
      writeFileSync(path.join(project, "misuse.ts"), misuse);
      const files = ["one-turn.ts", "all.ts", "misuse.ts"];
      writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
      const said = await inProject(process.execPath, path.join(root, "node_modules/typescript/bin/tsc"), "-p", ".").then(
        () => "",
        ({ stdout }: { stdout: string }) => stdout,
      );
      expect(said).toMatch(/^misuse\.ts\(2,\d+\): error \w+: Type 'number' is not assignable to type 'string'\.\n$/);
    },
  );

  test("runs the example of README.md in the process of its caller", async () => {
    copyFileSync(`${root}examples/one-turn.ts`, path.join(project, "one-turn.ts"));
    const { stdout } = await inProject(path.join(project, "node_modules/.bin/node"), "one-turn.ts");
    expect(stdout).toContain('You said earlier: "My name is Ada and I live in Lisbon."');
  });

  test("npx conversation-graph tells its version and its commands, and what is wrong with others", async () => {
    const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { version: string };
    expect((await inProject("npx", "conversation-graph", "--version")).stdout).toBe(`${version}\n`);
    const { stdout: help } = await inProject("npx", "conversation-graph", "--help");
    expect(help).toMatch(/reindex .*DATABASE_URL/s);
    expect(existsSync(/\S+\.env\.example/.exec(help)?.[0] ?? "")).toBe(true);
    await expect(inProject("npx", "conversation-graph", "strat")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no command or option "strat".'),
    });
    await expect(inProject("npx", "conversation-graph", "jobs", "retry", "nonsense")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("kinds: "),
    });
  });

  test("under a Node that is too old it says so, and which one can run it", async () => {
    const manifest = path.join(project, "node_modules/conversation-graph/package.json");
    const text = readFileSync(manifest, "utf8");
    writeFileSync(manifest, text.replace(/"node": ">=\d+"/, '"node": ">=99"'));
    const refused = inProject("npx", "conversation-graph");
    await expect(refused).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(/needs Node 99 or later[^]*node\/bin\/node/) });
    writeFileSync(manifest, text);
  });

  test("npx conversation-graph serves, keeps its data in ./.data alone, and drains when npx is told to stop", async () => {
    const before = installed();
    const { child, output, isUp } = await serveFrom(["npx", "conversation-graph"], env);
    child.kill("SIGTERM");
    await waitUntil("the service stopping behind npx", () => output().includes('"stopped"'), 60_000);
    await waitUntil("nothing answering any more", async () => !(await isUp()));
    expect(existsSync(path.join(project, ".data/postgres"))).toBe(true);
    expect(installed()).toEqual(before);
  });

  test("started without npx between, it exits with 0 on SIGTERM", async () => {
    const bin = path.join(project, "node_modules/.bin");
    const environment = { ...env, PATH: `${bin}${path.delimiter}${env["PATH"] ?? ""}` };
    const { child, ended } = await serveFrom([path.join(bin, "conversation-graph")], environment);
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });
});
