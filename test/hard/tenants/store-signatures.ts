import ts from "typescript";
import { readSources } from "../../support/read-sources.ts";

/** How deep a name may stand in an argument: `{ job: { tenantId } }`. */
const DEPTH = 2;

export interface StoreSignature {
  /** `Interface.method`, or the name of a function. */
  name: string;
  demands: ReadonlySet<string>;
}

function makeReader(checker: ts.TypeChecker, names: readonly string[]) {
  const isRequired = (symbol: ts.Symbol): boolean => {
    if ((symbol.flags & ts.SymbolFlags.Optional) !== 0) return false;
    const type = checker.getTypeOfSymbol(symbol);
    return !(type.isUnion() && type.types.some(({ flags }) => (flags & ts.TypeFlags.Undefined) !== 0));
  };

  /** Names that every value of a type has, itself or in what it must hold; of a union those that all of its members have. */
  function namesIn(type: ts.Type, depth: number): Set<string> {
    if (type.isUnion()) {
      const ofEach = type.types.filter(({ flags }) => (flags & ts.TypeFlags.Null) === 0).map((member) => namesIn(member, depth));
      return ofEach.reduce((one, other) => new Set([...one].filter((name) => other.has(name))), ofEach[0] ?? new Set());
    }
    const element = checker.getIndexTypeOfType(type, ts.IndexKind.Number);
    if (element && (type.flags & ts.TypeFlags.Object) !== 0) return namesIn(element, depth);
    if ((type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) === 0 || type.getCallSignatures().length > 0) return new Set();
    return namesAmong(type.getProperties(), depth);
  }

  function namesAmong(symbols: readonly ts.Symbol[], depth: number): Set<string> {
    const required = symbols.filter(isRequired);
    const own = required.map(({ name }) => name).filter((name) => names.includes(name));
    const below = depth === 0 ? [] : required.map((symbol) => namesIn(checker.getTypeOfSymbol(symbol), depth - 1));
    return new Set([...own, ...below.flatMap((found) => [...found])]);
  }

  return (signature: ts.Signature): Set<string> => namesAmong(signature.getParameters(), DEPTH);
}

/** Takes a database or transaction, and gives something else than functions over it. */
function readsOrWrites(checker: ts.TypeChecker, signature: ts.Signature): boolean {
  const takesOne = signature.getParameters().some((parameter) => {
    const { symbol } = checker.getTypeOfSymbol(parameter);
    return symbol?.name === "Database" || symbol?.name === "Queryable";
  });
  const returned = signature.getReturnType();
  const given = checker.getAwaitedType(returned) ?? returned;
  const makesFunctions =
    given.getCallSignatures().length > 0 || given.getProperties().some((property) => isMethodOfOurs(checker, property));
  return takesOne && !makesFunctions;
}

function isMethodOfOurs(checker: ts.TypeChecker, property: ts.Symbol): boolean {
  const isOurs = property.declarations?.some((node) => !node.getSourceFile().fileName.includes("node_modules")) ?? false;
  return isOurs && checker.getTypeOfSymbol(property).getCallSignatures().length > 0;
}

/** Every method of an exported interface below `folder`, callbacks left out, and every exported function that reads or writes a database. */
export function storeSignatures(folder: string, names: readonly string[]): StoreSignature[] {
  const { checker, files } = readSources([folder]);
  const demandsOf = makeReader(checker, names);
  const found = new Map<string, StoreSignature>();
  const add = (name: string, signature: ts.Signature): void => void found.set(name, { name, demands: demandsOf(signature) });
  const callsOf = (symbol: ts.Symbol) => checker.getTypeOfSymbol(symbol).getCallSignatures();
  for (const symbol of files.flatMap(({ exported }) => exported)) {
    if ((symbol.flags & ts.SymbolFlags.Interface) !== 0) {
      for (const property of checker.getDeclaredTypeOfSymbol(symbol).getProperties()) {
        if (/^on[A-Z]/.test(property.name) || !isMethodOfOurs(checker, property)) continue;
        for (const signature of callsOf(property)) add(`${symbol.name}.${property.name}`, signature);
      }
    } else if ((symbol.flags & ts.SymbolFlags.Function) !== 0) {
      for (const signature of callsOf(symbol)) if (readsOrWrites(checker, signature)) add(symbol.name, signature);
    }
  }
  return [...found.values()];
}
