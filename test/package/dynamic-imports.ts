import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { bundleLibrary, bundleService } from "../../scripts/bundle.ts";

// A program: loads every chunk of dist/ from whose import() the sources take names, and prints these with the ones that it lacks.

interface Taken {
  file: string;
  specifier: string;
  names: string[];
}

const propertyOf = ({ propertyName, name }: ts.BindingElement): string => (propertyName ?? name).getText();

/** The names taken from a namespace that stands at this place: `{ a }`, `await` and `.a`, `.then(({ a }) =>`, or an element of Promise.all. */
function namesAt(place: ts.Node): string[] | null {
  const { parent } = place;
  if (ts.isAwaitExpression(parent) || ts.isParenthesizedExpression(parent)) return namesAt(parent);
  if (ts.isVariableDeclaration(parent) && ts.isObjectBindingPattern(parent.name)) return parent.name.elements.map(propertyOf);
  if (ts.isArrayLiteralExpression(parent) && ts.isCallExpression(parent.parent)) {
    const declared = parent.parent.parent.parent;
    if (!ts.isVariableDeclaration(declared) || !ts.isArrayBindingPattern(declared.name)) return null;
    const element = declared.name.elements[parent.elements.indexOf(place as ts.Expression)];
    return element && ts.isBindingElement(element) && ts.isObjectBindingPattern(element.name)
      ? element.name.elements.map(propertyOf)
      : null;
  }
  if (!ts.isPropertyAccessExpression(parent)) return null;
  if (parent.name.text !== "then") return [parent.name.text];
  const [then] = ts.isCallExpression(parent.parent) ? parent.parent.arguments : [];
  const parameter = then && ts.isArrowFunction(then) ? then.parameters[0]?.name : undefined;
  return parameter && ts.isObjectBindingPattern(parameter) ? parameter.elements.map(propertyOf) : null;
}

function takenIn(file: string): Taken[] {
  const found: Taken[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [specifier] = node.arguments;
      const names = namesAt(node);
      // A file that is loaded to run, and one that only an operator names, give no names.
      if (specifier && ts.isStringLiteral(specifier) && names) found.push({ file, specifier: specifier.text, names });
    }
    ts.forEachChild(node, look);
  };
  look(ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true));
  return found;
}

const checked = [];
for (const { inputs, outputs } of await Promise.all([bundleService({ write: false }), bundleLibrary({ write: false })])) {
  for (const { file, specifier, names } of globSync(Object.keys(inputs).filter((name) => !name.includes("node_modules"))).flatMap(
    takenIn,
  )) {
    const input = inputs[file]?.imports.find(({ kind, original }) => kind === "dynamic-import" && original === specifier)?.path;
    const [chunk = ""] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === input) ?? [];
    const loaded = (await import(path.resolve(chunk))) as object;
    checked.push({ file, specifier, names, missing: names.filter((name) => !(name in loaded)) });
  }
}
console.log(JSON.stringify(checked));
process.exit(); // what was loaded may wait for something
