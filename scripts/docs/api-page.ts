import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGE = `${ROOT}docs/api.md`;

const CHAPTERS: Readonly<Record<string, string>> = {
  server: "The whole service",
  graph: "Turns",
  turn: "What a turn knows and tells",
  nodes: "Answers of one's own",
  agents: "Agents and their tools",
  memory: "Memory and its jobs",
  stores: "What is kept",
  models: "Models",
  errors: "Errors",
  observe: "Watching",
};

interface Export {
  name: string;
  file: string;
  about: string;
}

function openProgram(): { index: ts.SourceFile; checker: ts.TypeChecker } {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (file) => readFileSync(file, "utf8")) as { config: unknown };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const program = ts.createProgram([`${ROOT}server/index.ts`], options);
  const index = program.getSourceFile(`${ROOT}server/index.ts`);
  if (!index) throw new Error("server/index.ts is not there: run this in the project's own tree.");
  return { index, checker: program.getTypeChecker() };
}

/** Throws when it has no docstring. */
function exportOf(symbol: ts.Symbol, checker: ts.TypeChecker): Export {
  const declared = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const [declaration] = declared.declarations ?? [];
  if (!declaration) throw new Error(`${symbol.name} of server/index.ts is declared nowhere.`);
  const file = relative(ROOT, declaration.getSourceFile().fileName);
  const docstring = ts.displayPartsToString(declared.getDocumentationComment(checker)).replace(/\s+/g, " ");
  if (docstring === "") throw new Error(`${symbol.name} in ${file} has no docstring: server/index.ts exports it.`);
  const [about = docstring] = /^.+?[.:](?= [A-Z`]|$)/.exec(docstring) ?? [];
  return { name: symbol.name, file, about: about.replace(/:$/, ".") };
}

/** The list of server/index.ts' exports, as prettier writes it. Throws for an export without a docstring or chapter. */
export async function renderApiPage(): Promise<string> {
  const { index, checker } = openProgram();
  const module = checker.getSymbolAtLocation(index);
  const exported = (module ? checker.getExportsOfModule(module) : []).map((symbol) => exportOf(symbol, checker));
  const folderOf = ({ file }: Export) => file.split("/")[0] ?? "";
  const lost = exported.find((entry) => !(folderOf(entry) in CHAPTERS));
  if (lost) throw new Error(`${lost.name} is declared in ${lost.file}, a folder without a chapter in scripts/docs/api-page.ts.`);
  const chapters = Object.entries(CHAPTERS)
    .map(([folder, title]) => ({ title, own: exported.filter((entry) => folderOf(entry) === folder) }))
    .filter(({ own }) => own.length > 0)
    .map(({ title, own }) => `## ${title}\n\n${own.map(({ name, file, about }) => `- [\`${name}\`](../${file}): ${about}`).join("\n")}`);
  const page = [
    "# The public API of the package",
    `Memory across sessions, with every layer as the service has it:\n\n\`\`\`ts\n${readFileSync(`${ROOT}examples/across-sessions.ts`, "utf8").trim()}\n\`\`\``,
    "Everything that `conversation-graph` exports; each name leads to its declaration, which says more. `npm run docs` writes this page, and a test fails when it is not up to date.",
    ...chapters,
  ].join("\n\n");
  return format(page, { ...(await resolveConfig(PAGE)), parser: "markdown" });
}

if (import.meta.main) writeFileSync(PAGE, await renderApiPage());
