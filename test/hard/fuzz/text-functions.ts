import { AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import ts from "typescript";
import { readSources } from "../../support/read-sources.ts";

export interface TextFunction {
  id: string;
  file: string;
  name: string;
  argumentsWith: (text: string) => unknown[];
}

/** A value of a type, made around a text; `hasText` when the text is in it. */
type Shape = { hasText: boolean; make: (text: string) => unknown };

const FOLDERS = ["agents", "errors", "observe", "models", "stores", "memory", "prompt", "nodes", "graph", "server", "text", "turn"];
const FACTORY = /^(?:make|open|create|connect|lock)[A-Z]/;
const DEEPEST = 6;

const constant = (value: unknown): Shape => ({ hasText: false, make: () => value });

function makeReadShape(checker: ts.TypeChecker): (type: ts.Type, depth?: number) => Shape | null {
  const elementsOf = (type: ts.Type, depth: number): (Shape | null)[] =>
    checker.getTypeArguments(type as ts.TypeReference).map((one) => readShape(one, depth + 1));

  function readNamed(name: string, type: ts.Type, depth: number): Shape | null | undefined {
    const [first, second] = ["Map", "ReadonlyMap", "Set", "ReadonlySet", "Record"].includes(name) ? elementsOf(type, depth) : [];
    if (name === "Date") return constant(new Date());
    if (name === "AbortSignal") return constant(new AbortController().signal);
    if (name === "BaseMessage") return { hasText: true, make: (text) => new HumanMessage(text) };
    if (name === "AIMessageChunk") return { hasText: true, make: (text) => new AIMessageChunk(text) };
    if (name === "RegExp") return constant(/x/);
    if (name === "Error") return { hasText: true, make: (text) => new Error(text) };
    if (name === "Buffer" || name.startsWith("Uint8Array")) return { hasText: true, make: (text) => Buffer.from(text) };
    if (name.endsWith("Set")) return first ? { hasText: first.hasText, make: (text) => new Set([first.make(text)]) } : null;
    if (name.endsWith("Map"))
      return first && second ? { hasText: true, make: (text) => new Map([[first.make(text), second.make(text)]]) } : null;
    return undefined;
  }

  function readObject(type: ts.Type, depth: number): Shape | null {
    if (type.getCallSignatures().length > 0 || type.getConstructSignatures().length > 0) return null;
    const index = type.getStringIndexType();
    const item = index && readShape(index, depth + 1);
    if (index) return item ? { hasText: true, make: (text) => ({ [text.slice(0, 20)]: item.make(text) }) } : null;
    const fields: [string, Shape][] = [];
    for (const property of type.getProperties()) {
      const shape = readShape(checker.getTypeOfSymbol(property), depth + 1);
      if (shape) fields.push([property.name, shape]);
      else if (!(property.flags & ts.SymbolFlags.Optional)) return null;
    }
    return {
      hasText: fields.some(([, { hasText }]) => hasText),
      make: (text) => Object.fromEntries(fields.map(([name, { make }]) => [name, make(text)])),
    };
  }

  function readShape(type: ts.Type, depth = 0): Shape | null {
    if (depth > DEEPEST) return null;
    if (type.isUnion()) {
      const shapes = type.types.map((one) => readShape(one, depth)).filter((shape) => shape !== null);
      return shapes.find(({ hasText }) => hasText) ?? shapes.at(-1) ?? null;
    }
    if (type.isStringLiteral() || type.isNumberLiteral()) return constant(type.value);
    if (type.flags & ts.TypeFlags.StringLike) return { hasText: true, make: (text) => text };
    if (type.flags & ts.TypeFlags.NumberLike) return constant(1_000);
    if (type.flags & ts.TypeFlags.BigIntLike) return constant(1_000n);
    if (type.flags & ts.TypeFlags.BooleanLike) return constant(true);
    if (type.flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined | ts.TypeFlags.Void)) return constant(undefined);
    if (type.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) return { hasText: true, make: (text) => text };
    const limit = type.flags & ts.TypeFlags.TypeParameter ? checker.getBaseConstraintOfType(type) : undefined;
    if (type.flags & ts.TypeFlags.TypeParameter) return limit ? readShape(limit, depth + 1) : { hasText: true, make: (text) => text };
    if (checker.isTupleType(type)) {
      const items = elementsOf(type, depth);
      if (items.some((item) => item === null)) return null;
      return { hasText: items.some((item) => item?.hasText), make: (text) => items.map((item) => item?.make(text)) };
    }
    if (checker.isArrayType(type)) {
      const [item] = elementsOf(type, depth);
      return item ? { hasText: item.hasText, make: (text) => [item.make(text)] } : null;
    }
    const named = readNamed(type.symbol?.name ?? "", type, depth);
    return named === undefined ? readObject(type, depth) : named;
  }

  return readShape;
}

/** Every exported function of the service that takes only data, with text in it. Lists are given with one item. */
export function findTextFunctions(): TextFunction[] {
  const { checker, files } = readSources(FOLDERS);
  const readShape = makeReadShape(checker);
  const hasDefault = ({ valueDeclaration: node }: ts.Symbol): boolean => node !== undefined && ts.isParameter(node) && !!node.initializer;
  return files.flatMap(({ file, exported }) =>
    exported.flatMap((symbol): TextFunction[] => {
      const isOwnValue = !(symbol.flags & ts.SymbolFlags.Alias) && (symbol.flags & ts.SymbolFlags.Value) !== 0;
      const [signature] = isOwnValue && !FACTORY.test(symbol.name) ? checker.getTypeOfSymbol(symbol).getCallSignatures() : [];
      const parameters = signature?.parameters.filter((parameter) => !hasDefault(parameter)) ?? [];
      const shapes = parameters.map((parameter) => readShape(checker.getTypeOfSymbol(parameter)));
      if (!shapes.some((shape) => shape?.hasText) || shapes.includes(null)) return [];
      const argumentsWith = (text: string): unknown[] => shapes.map((shape) => shape?.make(text));
      return [{ id: `${file} ${symbol.name}`, file, name: symbol.name, argumentsWith }];
    }),
  );
}
