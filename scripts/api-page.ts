import { readFileSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = `${ROOT}docs/api.md`;

/** The chapters of the page, by the folder that declares what is exported. */
const CHAPTERS: Readonly<Record<string, string>> = {
  graph: "Turns",
  turn: "What a turn knows and tells",
  nodes: "Answers of one's own",
  memory: "Memory and its jobs",
  stores: "What is kept",
  models: "Models",
  errors: "Errors",
  observe: "Watching",
};

interface Entry {
  name: string;
  /** A key of CHAPTERS. */
  folder: string;
  /** From the root of the tree. */
  file: string;
  docstring: string;
  code: string;
}

/** Throws when graph/index.ts cannot be read as the compiler options of the project say. */
function openProgram(): { index: ts.SourceFile; checker: ts.TypeChecker } {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (file) => readFileSync(file, "utf8")) as { config: unknown };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const program = ts.createProgram([`${ROOT}graph/index.ts`], options);
  const index = program.getSourceFile(`${ROOT}graph/index.ts`);
  if (!index) throw new Error("graph/index.ts is not there: run this in the project's own tree.");
  return { index, checker: program.getTypeChecker() };
}

/** A declaration as its users see it: no body, no private member, no `export`. Comments inside stay. */
function codeOf(declaration: ts.Declaration): string {
  const text = declaration.getSourceFile().text;
  if (ts.isFunctionDeclaration(declaration) || ts.isMethodDeclaration(declaration) || ts.isConstructorDeclaration(declaration)) {
    const end = declaration.body ? declaration.body.getStart() : declaration.end;
    return `${withoutExport(text.slice(declaration.getStart(), end).trim()).replace(/\basync /, "")};`;
  }
  if (ts.isClassDeclaration(declaration)) {
    const head = text.slice(declaration.getStart(), declaration.members.pos);
    const members = declaration.members
      .filter((member) => !(ts.getCombinedModifierFlags(member) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)))
      .map((member) => `${docstringIn(member)}${codeOf(member)}`);
    return `${withoutExport(head)}\n${members.join("\n")}\n}`;
  }
  const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  return withoutExport(statement.getText());
}

function withoutExport(code: string): string {
  return code.replace(/^export (default )?/, "");
}

function docstringIn(member: ts.Node): string {
  return ts
    .getJSDocCommentsAndTags(member)
    .map((comment) => `${comment.getText()}\n`)
    .join("");
}

/** What a type made from a zod schema comes to, with the docstrings of its fields. */
function codeOfInferred(name: string, type: ts.Type, checker: ts.TypeChecker): string {
  const asText = (part: ts.Type): string =>
    checker.typeToString(part, undefined, ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias);
  if (type.isUnion()) return `type ${name} = ${asText(type)};`;
  const fields = type.getProperties().map((field) => {
    const docstring = ts.displayPartsToString(field.getDocumentationComment(checker));
    return `${docstring === "" ? "" : `/** ${docstring} */\n`}${field.name}: ${asText(checker.getTypeOfSymbol(field))};`;
  });
  return `type ${name} = {\n${fields.join("\n")}\n}`;
}

function resolved(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** The types of this project that a declaration names, outside of bodies. */
function namedIn(declaration: ts.Declaration, checker: ts.TypeChecker): ts.Symbol[] {
  const named: ts.Symbol[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isBlock(node)) return;
    const name = ts.isTypeReferenceNode(node) ? node.typeName : ts.isExpressionWithTypeArguments(node) ? node.expression : undefined;
    const symbol = name && checker.getSymbolAtLocation(name);
    if (symbol) named.push(resolved(symbol, checker));
    ts.forEachChild(node, visit);
  };
  visit(declaration);
  return named.filter(({ flags, declarations = [] }) => {
    const file = declarations[0]?.getSourceFile().fileName ?? "";
    return file.startsWith(ROOT) && !file.includes("/node_modules/") && !(flags & ts.SymbolFlags.TypeParameter);
  });
}

/** Throws when it has no docstring. */
function entryOf(symbol: ts.Symbol, checker: ts.TypeChecker): Entry {
  const declarations = symbol.declarations ?? [];
  const [first] = declarations;
  if (!first) throw new Error(`${symbol.name} of graph/index.ts is declared nowhere.`);
  const file = relative(ROOT, first.getSourceFile().fileName);
  const docstring = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  if (docstring === "")
    throw new Error(`${symbol.name} in ${file} has no docstring: graph/index.ts exports it, or something that names it.`);
  const inferred = declarations.find(
    (declaration) => ts.isTypeAliasDeclaration(declaration) && /^z\.infer</.test(declaration.type.getText()),
  );
  const code = inferred
    ? codeOfInferred(symbol.name, checker.getDeclaredTypeOfSymbol(symbol), checker)
    : declarations.map(codeOf).join("\n");
  return { name: symbol.name, folder: dirname(file).split("/")[0] ?? "", file, docstring, code };
}

function sectionOf({ name, file, docstring, code }: Entry): string {
  return `### ${name}\n\n${docstring}\n\n[${file}](../${file})\n\n\`\`\`ts\n${code}\n\`\`\``;
}

/** The page of everything that graph/index.ts exports, as prettier writes it. Throws for an export without a docstring or of no chapter. */
export async function renderApiPage(): Promise<string> {
  const { index, checker } = openProgram();
  const module = checker.getSymbolAtLocation(index);
  const exported = (module ? checker.getExportsOfModule(module) : []).map((symbol) => resolved(symbol, checker));
  const named = new Set(exported.flatMap(({ declarations = [] }) => declarations.flatMap((declaration) => namedIn(declaration, checker))));
  const entries = exported.map((symbol) => entryOf(symbol, checker));
  const lost = entries.find(({ folder }) => !(folder in CHAPTERS));
  if (lost) throw new Error(`${lost.name} is declared in ${lost.file}, a folder without a chapter in scripts/api-page.ts.`);
  const chapters = Object.entries(CHAPTERS).map(([folder, title]) => ({ title, own: entries.filter((entry) => entry.folder === folder) }));
  const others = [...named].filter((symbol) => !exported.includes(symbol)).map((symbol) => entryOf(symbol, checker));
  chapters.push({ title: "Named above, not exported", own: others.sort((one, other) => (one.name < other.name ? -1 : 1)) });
  const contents = chapters.map(({ title, own }) => `- ${title}: ${own.map(({ name }) => `[${name}](#${name.toLowerCase()})`).join(", ")}`);
  const page = [
    "# The public API of the package",
    "Everything that `conversation-graph` exports. Written by `npm run docs` from the sources; a test fails when it is not up to date.",
    contents.join("\n"),
    ...chapters.map(({ title, own }) => [`## ${title}`, ...own.map(sectionOf)].join("\n\n")),
  ].join("\n\n");
  return format(page, { ...(await resolveConfig(PAGE)), parser: "markdown" });
}

if (import.meta.main) writeFileSync(PAGE, await renderApiPage());
