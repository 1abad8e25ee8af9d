import { globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { Environment } from "../../server/settings/settings.ts";
import { FLOORS } from "./floors.ts";
import { traceWalks, type WalkName, type Walks } from "./walks.ts";

/** `npm run house`: the figures of the tree. `--write` also writes the walks of CONTRIBUTING.md. */

const ROOMS = FLOORS.flat();
/** Written by a script, not in git. */
const GENERATED = "web/api/described.ts";
const inRooms = (rooms: readonly string[]): string[] =>
  rooms.flatMap((room) => globSync(`${room}/*.{ts,tsx}`)).filter((file) => file !== GENERATED);
const read = (file: string): string => readFileSync(file, "utf8");
const linesOf = (files: readonly string[]): number => files.reduce((sum, file) => sum + read(file).split("\n").length - 1, 0);
const wordsIn = (text: string): number => text.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu)?.length ?? 0;
const wordsOf = (files: readonly string[]): number => files.reduce((sum, file) => sum + wordsIn(read(file)), 0);

/** Read by the syntax tree: a scanner alone loses its place after a template or a regular expression. */
function wordsOfComments(file: string): number {
  const text = read(file);
  const comments = new Map<number, string>();
  const visit = (node: ts.Node): void => {
    const ranges = [...(ts.getLeadingCommentRanges(text, node.pos) ?? []), ...(ts.getTrailingCommentRanges(text, node.end) ?? [])];
    for (const { pos, end } of ranges) comments.set(pos, text.slice(pos, end));
    node.getChildren().forEach(visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  return wordsIn([...comments.values()].join("\n"));
}

/** Rooms that import each other, also by way of others. */
function knotsOf(rooms: readonly string[]): string[][] {
  const imports = new Map(
    rooms.map((room) => {
      const files = inRooms([room]);
      const found = files.flatMap((file) =>
        ts
          .preProcessFile(read(file), true, true)
          .importedFiles.filter(({ fileName }) => fileName.startsWith("."))
          .map(({ fileName }) => path.dirname(path.join(path.dirname(file), fileName))),
      );
      return [room, new Set(found.filter((other) => other !== room && rooms.includes(other)))];
    }),
  );
  const reach = (room: string): Set<string> => {
    const reached = new Set(imports.get(room));
    for (const next of reached) for (const other of imports.get(next) ?? []) reached.add(other);
    return reached;
  };
  const reached = new Map(rooms.map((room) => [room, reach(room)]));
  const together = (room: string): string[] => rooms.filter((other) => reached.get(room)?.has(other) && reached.get(other)?.has(room));
  const knots = new Map(rooms.map((room) => [together(room).join(" "), together(room)]));
  return [...knots.values()].filter((knot) => knot.length > 1);
}

const TITLES: Readonly<Record<WalkName, string>> = {
  turn: "A turn without tools, from the request to the stored answer",
  model: "A call of a model, from the prompt to the deltas of its answer",
  tool: "A call of a tool that a person has to allow, besides the files of a turn",
  erase: "An erase of a user",
  document: "A document, from the upload to its citation, besides the files of a turn",
  langgraph: "A run of LangGraph's protocol, around the turn",
};

/** Files by room, in the order of their first calls. */
function renderWalk(files: readonly string[]): string {
  const steps: { room: string; names: string[] }[] = [];
  for (const file of files) {
    const room = path.dirname(file);
    const last = steps.at(-1);
    if (last?.room === room) last.names.push(path.basename(file, ".ts"));
    else steps.push({ room, names: [path.basename(file, ".ts")] });
  }
  return steps.map(({ room, names }, index) => `${index + 1}. \`${room}/\`: ${names.join(", ")}`).join("\n");
}

const renderWalks = (walks: Walks): string =>
  (Object.keys(TITLES) as WalkName[])
    .map((name) => `**${TITLES[name]}** (${walks[name].length} files):\n\n${renderWalk(walks[name])}`)
    .join("\n\n");

const [BEGIN, END] = ["<!-- walks: written by npm run house -->", "<!-- end of walks -->"];

function writeWalks(walks: Walks): void {
  const page = read("CONTRIBUTING.md");
  const [before = "", rest = ""] = page.split(BEGIN);
  const [, after = ""] = rest.split(END);
  writeFileSync("CONTRIBUTING.md", `${before}${BEGIN}\n\n${renderWalks(walks)}\n\n${END}${after}`);
}

async function main(): Promise<void> {
  const sources = ROOMS.filter((room) => !room.startsWith("web"));
  const files = inRooms(sources);
  const docs = globSync(["README.md", "CONTRIBUTING.md", "docs/*.md"]);
  const decisions = globSync("docs/decisions/*.md");
  const comments = [...inRooms(ROOMS), ...globSync(["scripts/**/*.ts", "benchmarks/**/*.ts"])];
  const walks = await traceWalks();
  const knots = knotsOf(ROOMS);
  const rows: [string, string | number][] = [
    ["knots of rooms that import each other", knots.length],
    ...(Object.keys(TITLES) as WalkName[]).map((name): [string, number] => [`files: ${TITLES[name]}`, walks[name].length]),
    ["source files (no page, scripts, tests, benches)", files.length],
    ["their lines", linesOf(files)],
    [
      "words of comments, docs and decisions",
      comments.reduce((sum, file) => sum + wordsOfComments(file), 0) + wordsOf([...docs, ...decisions]),
    ],
    ["decisions", decisions.length],
    ["settings", Object.keys(Environment.shape).length],
    ["bench files", globSync("benchmarks/**/*.ts").length],
    ["test files", globSync("test/**/*.test.ts").length],
  ];
  process.stdout.write(rows.map(([name, value]) => `| ${name} | ${value} |\n`).join(""));
  for (const knot of knots) process.stdout.write(`knot: ${knot.join(" ")}\n`);
  if (process.argv.includes("--write")) writeWalks(walks);
}

await main();
