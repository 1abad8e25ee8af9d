import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { renderApiPage } from "../scripts/docs/api-page.ts";
import { renderCompose, renderConfigurationPage, renderEnvExample } from "../scripts/docs/configuration-page.ts";
import { renderArchitecture } from "../scripts/docs/draw-graph.ts";
import { FLOORS } from "../scripts/house/floors.ts";
import { buildDescription } from "../server/openapi/build-description.ts";

const read = (file: string): string => readFileSync(file, "utf8");

const ROOMS = FLOORS.flat();
/** The folders at the top level, from the top floor to the ground. */
const LAYERS = [...new Set(ROOMS.map((room) => room.split("/")[0] ?? ""))].filter((layer) => layer !== "web");

/** Paths from the root, types included. */
function importsOf(file: string): string[] {
  const paths = read(file).matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return [...paths].map(([, path = ""]) => new URL(path, `file:///${file}`).pathname.slice(1));
}

test("docs/api.md is what npm run docs makes from the sources", async () => expect(await renderApiPage()).toBe(read("docs/api.md")));

test("docs/configuration.md, .env.example and docker-compose.yml are what npm run docs makes from the settings", async () => {
  expect(await renderConfigurationPage()).toBe(read("docs/configuration.md"));
  expect(renderEnvExample()).toBe(read(".env.example"));
  expect(renderCompose()).toBe(read("docker-compose.yml"));
});

test("docs/http.md lists every route of the API's description, and no other", () => {
  const { paths } = buildDescription({ maxMessageChars: 1, sections: [] });
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
  );
  const listed = [...read("docs/http.md").matchAll(/^\| `([A-Z]+ \/[^`?]*)/gm)].map(([, route]) => route);
  const filesOfPages = ["GET /assets/:file", "GET /docs/:file"];
  expect(listed.toSorted()).toEqual(described.filter((route) => !filesOfPages.includes(route)).toSorted());
});

test("the picture in docs/architecture.md is the compiled graph", async () => {
  const page = read("docs/architecture.md");
  expect(page).toContain("retrieve -.-> generate");
  expect(await renderArchitecture(page)).toBe(page);
});

test("docs/architecture.md has every node and every layer", () => {
  const page = read("docs/architecture.md");
  const inPicture = [...page.matchAll(/^\t(\w+)\(\1\)$/gm)].map(([, node]) => node);
  const rows = [...page.matchAll(/^\| ((?:`\w+`(?:, )?)+) +\|/gm)].map(([, names = ""]) => names.replaceAll("`", "").split(", "));
  expect(inPicture.length).toBeGreaterThan(0);
  expect(rows.flat()).toEqual([...inPicture, ...LAYERS]);
});

test.each(["README.md", "CONTRIBUTING.md", ...globSync("docs/**/*.md")])("%s links only to files that exist", (page) => {
  const links = [...read(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, link = ""]) => link).filter((link) => !/^https?:/.test(link));
  expect(links.filter((link) => !existsSync(path.join(path.dirname(page), link)))).toEqual([]);
});

test("CONTRIBUTING.md names only files and commands that exist", () => {
  const page = read("CONTRIBUTING.md");
  const files = [...page.matchAll(/`([\w-]+\/[\w./-]*)`/g)].map(([, file = ""]) => file);
  const commands = [...page.matchAll(/npm run ([\w:]+)/g)].map(([, command = ""]) => command);
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => !existsSync(file) && !/^(dist\/|node_modules\/)/.test(file))).toEqual([]);
  expect(commands.filter((command) => !(command in scripts))).toEqual([]);
});

test("every test file belongs either to npm test or to npm run test:hard, and never to both", async () => {
  const listed = ["jest.config.js", "jest.hard.config.js"].map(async (config) => {
    const { stdout } = await promisify(execFile)("node_modules/.bin/jest", ["--listTests", "--config", config]);
    return stdout.trim().split("\n");
  });
  const [everyday = [], hard = []] = await Promise.all(listed);
  expect(hard.length).toBeGreaterThan(50);
  expect([...everyday, ...hard].toSorted()).toEqual(
    globSync("test/**/*.test.ts")
      .map((file) => path.resolve(file))
      .toSorted(),
  );
});

test("the table of floors has every folder with sources, and no other folder", () => {
  const files = [...LAYERS, "web"].flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`));
  expect([...new Set(files.map((file) => path.dirname(file)))].toSorted()).toEqual(ROOMS.toSorted());
});

test("no file imports itself through others, types included", () => {
  const folders = [...LAYERS, "scripts", "benchmarks", "web"];
  const files = folders.flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`, { exclude: ["**/node_modules/**"] }));
  const imports = new Map(files.map((file) => [file, importsOf(file)]));
  const isInCircle = (file: string): boolean => {
    const reached = new Set(imports.get(file));
    for (const next of reached) for (const imported of imports.get(next) ?? []) reached.add(imported);
    return reached.has(file);
  };
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter(isInCircle)).toEqual([]);
});
