import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "@jest/globals";
import { renderApiPage } from "../scripts/api-page.ts";
import { renderArchitecture } from "../scripts/draw-graph.ts";

const read = (file: string): string => readFileSync(file, "utf8");

/** From above to below, as docs/architecture.md has it. */
const LAYERS = [["server"], ["graph"], ["nodes"], ["memory"], ["stores", "models"], ["text"], ["observe"], ["errors"]];
/** What nodes know of the graph: the types of a turn. */
const TYPES_OF_A_TURN = /^graph\/(state|turn-context|turn-event|turn-outcome|milliseconds-since)\.ts$/;

const levelOf = (folder: string): number => LAYERS.findIndex((layer) => layer.includes(folder));

/** The files of other layers that a file imports, from the root of the tree. */
function importsOf(file: string): string[] {
  const paths = read(file).matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return [...paths].map(([, path = ""]) => new URL(path, `file:///${file}`).pathname.slice(1));
}

test("docs/api.md is what npm run docs makes of the sources", async () => {
  expect(await renderApiPage()).toBe(read("docs/api.md"));
});

test("the picture in docs/architecture.md is the compiled graph", async () => {
  const page = read("docs/architecture.md");
  expect(page).toContain("retrieve -.-> generate_rag");
  expect(await renderArchitecture(page)).toBe(page);
});

test("docs/architecture.md tells of every node and every layer", () => {
  const page = read("docs/architecture.md");
  const inPicture = [...page.matchAll(/^\t(\w+)\(\1\)$/gm)].map(([, node]) => node);
  const rows = [...page.matchAll(/^\| ((?:`\w+`(?:, )?)+) +\|/gm)].map(([, names = ""]) => names.replaceAll("`", "").split(", "));
  expect(inPicture.length).toBeGreaterThan(0);
  expect(rows).toEqual([...inPicture.map((node) => [node]), ...LAYERS]);
});

test.each(["README.md", "CONTRIBUTING.md", ...globSync("docs/**/*.md")])("%s links to what is there", (page) => {
  const links = [...read(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, link = ""]) => link).filter((link) => !/^https?:/.test(link));
  expect(links.filter((link) => !existsSync(path.join(path.dirname(page), link)))).toEqual([]);
});

test("CONTRIBUTING.md names files and commands that are there", () => {
  const page = read("CONTRIBUTING.md");
  const files = [...page.matchAll(/`([\w-]+\/[\w./-]*)`/g)].map(([, file = ""]) => file);
  const commands = [...page.matchAll(/npm run ([\w:]+)/g)].map(([, command = ""]) => command);
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => !existsSync(file) && !/^(dist\/|node_modules\/)/.test(file))).toEqual([]);
  expect(commands.filter((command) => !(command in scripts))).toEqual([]);
});

test("no layer imports from one above it", () => {
  const files = LAYERS.flat().flatMap((folder) => globSync(`${folder}/**/*.ts`));
  expect(files.length).toBeGreaterThan(100);
  const upwards = files.flatMap((file) => {
    const level = levelOf(file.split("/")[0] ?? "");
    return importsOf(file)
      .filter((imported) => levelOf(imported.split("/")[0] ?? "") < level)
      .filter((imported) => !(file.startsWith("nodes/") && TYPES_OF_A_TURN.test(imported)))
      .map((imported) => `${file} imports ${imported}`);
  });
  expect(upwards).toEqual([]);
});
