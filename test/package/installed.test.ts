import { execFile, type ChildProcess } from "node:child_process";
import { copyFileSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { pack, type Packed } from "./pack.ts";
import { plainEnvironment, serve } from "./plain-environment.ts";
import { freePort } from "../servers/free-port.ts";
import { startModelServer } from "../servers/model-server.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";
import { waitUntil } from "../support/wait-until.ts";
import { settingsOfAllTools, useEverything } from "./used-once.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
const plain = plainEnvironment();
/** The Node that runs the tests comes first, as the caller's. */
const env = { ...plain, PATH: `${path.dirname(process.execPath)}${path.delimiter}${plain["PATH"] ?? ""}` };
const OFFLINE_FIRST = ["--prefer-offline", "--no-audit", "--no-fund"];
/** The other Node that can run the package; the tests themselves run on 24. */
const NODE_22 = "22.14.0";
const PNPM = "10.34.9";

describe("the package, installed in an empty project,", () => {
  let folder: string;
  let project: string;
  let packed: Packed;
  let installing: { stdout: string; stderr: string };
  const started: ChildProcess[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-installed-"));
    project = path.join(folder, "project");
    mkdirSync(project);
    writeFileSync(path.join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
    packed = await pack(folder, env);
    installing = await inProject("npm", "install", ...OFFLINE_FIRST, path.join(folder, packed.filename));
    await run("npm", ["install", ...OFFLINE_FIRST, "--prefix", path.join(folder, "node-22"), `node@${NODE_22}`], { env });
  }, 600_000);
  afterAll(async () => {
    for (const child of started) child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  const inProject = (program: string, ...given: string[]) => run(program, given, { cwd: project, env, maxBuffer: 64 * 2 ** 20 });
  const nodeOf = (version: string): string =>
    version === "22" ? path.join(folder, "node-22/node_modules/node/bin/node") : process.execPath;
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
    const migrations = globSync("stores/postgres/migrations/*.sql", { cwd: root });
    expect(files.filter((file) => !file.startsWith("dist/"))).toEqual(
      [".env.example", "LICENSE", "README.md", "package.json", ...migrations].sort(),
    );
    const built = files.filter((file) => file.startsWith("dist/")).map((file) => file.slice("dist/".length));
    expect(built.filter((file) => !file.includes("/"))).toEqual(
      [
        "THIRD-PARTY-LICENSES.txt",
        "conversation-graph.js",
        "empty-database.tar.gz",
        "index.js",
        "main.js",
        "parse-worker.js",
        "pglite-worker.js",
        "sbom.cdx.json",
      ].sort(),
    );
    const folders = new Set(built.filter((file) => file.includes("/")).map((file) => file.split("/")[0]));
    expect([...folders].sort()).toEqual(["chunks", "pdfjs", "swagger-ui", "types", "web"]);
    const types = built.filter((file) => file.startsWith("types/"));
    expect(types.filter((file) => !existsSync(path.join(root, file.slice("types/".length).replace(/\.d\.ts$/, ".ts"))))).toEqual([]);
    expect(files.filter((file) => /\.(map|tsx|env|log)$|renamed-since/.test(file))).toEqual([]);
    // A quarter of it is the empty database.
    expect(packed.size).toBeLessThan(12 * 2 ** 20);
  });

  test("brings fewer than 200 packages and 200 MB, none of them under another name, and causes no warning of npm", () => {
    expect(installing.stderr.replaceAll(/^npm (warn Unknown|notice).*\n?/gm, "")).toBe("");
    const lock = JSON.parse(readFileSync(path.join(project, "node_modules/.package-lock.json"), "utf8")) as {
      packages: Record<string, { name?: string }>;
    };
    const packages = Object.entries(lock.packages);
    expect(packages.length).toBeLessThan(200);
    expect(packages.filter(([folder, { name }]) => name !== undefined && !folder.endsWith(name))).toEqual([]);
    const sizes = globSync("node_modules/**/*", { cwd: project, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => statSync(path.join(file.parentPath, file.name)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200 * 2 ** 20);
  });

  test("can be installed by pnpm too, which hides from a package what it does not name", async () => {
    const other = path.join(folder, "with-pnpm");
    mkdirSync(other);
    writeFileSync(path.join(other, "package.json"), JSON.stringify({ private: true, type: "module" }));
    const inOther = (program: string, ...given: string[]) => run(program, given, { cwd: other, env });
    const { stdout } = await inOther("npm", "exec", "--yes", "--", `pnpm@${PNPM}`, "add", path.join(folder, packed.filename));
    expect(stdout).not.toMatch(/WARN|unmet|deprecated/);
    const script = 'console.log(typeof (await import("conversation-graph")).startTurn)';
    expect((await inOther(process.execPath, "--input-type=module", "-e", script)).stdout).toBe("function\n");
    expect((await inOther("node_modules/.bin/conversation-graph", "--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test("brings one zod and one @langchain/core, of the versions that it names", () => {
    const { dependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { dependencies: Record<string, string> };
    for (const name of ["zod", "@langchain/core"]) {
      const found = globSync(`**/node_modules/${name}/package.json`, { cwd: project });
      const versions = found.map((file) => (JSON.parse(readFileSync(path.join(project, file), "utf8")) as { version: string }).version);
      expect(versions).toEqual([dependencies[name]]);
    }
  });

  test("opens and prints nothing when it is imported, needs no environment, and lets the process end", async () => {
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
    "has sound types under moduleResolution $moduleResolution in all its files and in those it depends on, and lets no misuse compile",
    async (resolution) => {
      for (const name of ["one-turn.ts", "across-sessions.ts"]) copyFileSync(`${root}examples/${name}`, path.join(project, name));
      // What a project for Node has, and nothing else of @types that the package did not bring.
      for (const name of ["@types/node", "undici-types"])
        cpSync(path.join(root, "node_modules", name), path.join(project, "node_modules", name), { recursive: true });
      const compilerOptions = { ...resolution, types: ["node"], target: "es2023", strict: true, skipLibCheck: false, noEmit: true };
      const misuse =
        'import { startTurn } from "conversation-graph";\nstartTurn({} as never, { userId: "a", sessionId: "b", message: 3 });\n';
      writeFileSync(path.join(project, "misuse.ts"), misuse);
      const declarations = globSync("node_modules/conversation-graph/dist/types/**/*.d.ts", { cwd: project });
      const files = ["one-turn.ts", "across-sessions.ts", "misuse.ts", ...declarations];
      writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
      const said = await inProject(process.execPath, path.join(root, "node_modules/typescript/bin/tsc"), "-p", ".").then(
        () => "",
        ({ stdout }: { stdout: string }) => stdout,
      );
      expect(said).toMatch(/^misuse\.ts\(2,\d+\): error \w+: Type 'number' is not assignable to type 'string'\.\n$/);
    },
  );

  test.each([
    ["22", "one-turn", 'You said earlier: "My name is Ada and I live in Lisbon."'],
    ["24", "across-sessions", 'What I know about you: "Lives in Lisbon."'],
    ["22", "across-sessions", 'What I know about you: "Lives in Lisbon."'],
  ])("runs on Node %s the example %s in the process of its caller", async (version, name, says) => {
    copyFileSync(`${root}examples/${name}.ts`, path.join(project, `${name}.ts`));
    const types = version === "22" ? ["--experimental-strip-types", "--disable-warning=ExperimentalWarning"] : [];
    const { stdout, stderr } = await inProject(nodeOf(version), ...types, `${name}.ts`);
    expect(stdout).toContain(says);
    expect(stderr).toBe("");
  });

  test.each(["main.js", "index.js"])("has every tool, every protocol and every reader in %s", async (file) => {
    const script = `
      import { createServer } from "node:http";
      import { openService } from "conversation-graph";
      const { PORT, ...settings } = JSON.parse(process.env.SETTINGS);
      createServer((await openService(settings)).app).listen(Number(PORT), "127.0.0.1", () => console.log("listening on http://127.0.0.1:" + PORT));`;
    writeFileSync(path.join(project, "serve.js"), script);
    const main = file === "main.js" ? "node_modules/conversation-graph/dist/main.js" : "serve.js";
    const model = await startModelServer();
    const settings = {
      PORT: String(await freePort()),
      DATA_DIR: path.join(folder, `data-of-${file}`),
      ...settingsOfAllTools(model, folder),
    };
    try {
      const { url } = await startServiceProcess({ ...settings, SETTINGS: JSON.stringify(settings) }, path.join(project, main));
      await useEverything(url, model);
    } finally {
      await killServiceProcesses();
      await model.close();
    }
  });

  test("shows its version and its commands by npx, and says what is wrong with others", async () => {
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

  test("names a Node that is too old in one line, and the Node it needs, by its command, its service and its library", async () => {
    const dist = path.join(project, "node_modules/conversation-graph/dist");
    const { engines } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { engines: { node: string } };
    const problem = `conversation-graph needs Node ${engines.node.slice(">=".length)} or later, and this is Node ${process.versions.node} (${process.execPath}).`;
    const older = path.join(folder, "older.cjs");
    writeFileSync(older, 'delete require("node:module").findPackageJSON; require("node:module").syncBuiltinESMExports();');
    for (const file of ["conversation-graph.js", "main.js"]) {
      const refused = inProject(process.execPath, "--require", older, path.join(dist, file));
      await expect(refused).rejects.toMatchObject({ code: 1, stdout: "", stderr: `${problem}\n` });
    }
    const script = 'await import("conversation-graph").catch(({ message }) => console.log(message))';
    const { stdout } = await inProject(process.execPath, "--require", older, "--input-type=module", "-e", script);
    expect(stdout).toBe(`${problem}\n`);
  });

  test("serves by npx, keeps its data in ./.data alone, and drains when npx is told to stop", async () => {
    const before = installed();
    const { child, output, isUp } = await serveFrom(["npx", "conversation-graph"], env);
    child.kill("SIGTERM");
    await waitUntil("the service stopping behind npx", () => output().includes('"stopped"'));
    await waitUntil("nothing answering any more", async () => !(await isUp()));
    expect(existsSync(path.join(project, ".data/postgres"))).toBe(true);
    expect(installed()).toEqual(before);
  });

  test.each(["24", "22"])("prints no warning and exits with 0 on SIGTERM when it starts without npx on Node %s", async (version) => {
    const environment = { ...env, PATH: `${path.dirname(nodeOf(version))}${path.delimiter}${env["PATH"] ?? ""}` };
    const { child, ended, output } = await serveFrom([path.join(project, "node_modules/.bin/conversation-graph")], environment);
    expect(output()).not.toMatch(/warning/i);
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });
});
