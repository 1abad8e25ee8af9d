import { describe, expect, test } from "@jest/globals";
import ts from "typescript";
import { readSources } from "../../support/read-sources.ts";

/** Names by which an argument says whose data it is about. */
const DEMANDED = ["tenantId", "userId", "ownerKey"];
/** How deep a name may stand in an argument: `{ job: { tenantId } }`. */
const DEPTH = 2;

interface StoreSignature {
  /** `Interface.method`, or the name of a function. */
  name: string;
  demands: ReadonlySet<string>;
}

function makeReader(checker: ts.TypeChecker) {
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
    const own = required.map(({ name }) => name).filter((name) => DEMANDED.includes(name));
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

/** Every method of an exported interface of the stores, callbacks left out, and every exported function that reads or writes a database. */
function storeSignatures(): StoreSignature[] {
  const { checker, files } = readSources(["stores"]);
  const demandsOf = makeReader(checker);
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

/** What need not say whose data it touches, by the reason. */
const OF_NO_TENANT: Record<string, string> = {
  "the connection that stores are made of": `Queryable.query Database.query Database.transaction Database.listen Database.close PooledDatabaseParts.listen
    PooledDatabaseParts.afterClose PGliteThread.connect PGliteThread.close toBossDatabase JobQueue.transaction inReadTransaction queryRow readGathered GatheredRead.json GatheredRead.toResult TenantListParts.rows
    TenantListParts.toItem`,
  "the schema": `migrate installJobQueue readColumns readSchemaVersion migrateFrom create openIndexTable hasIndexTable createSearchSchema dropIndexTable findIndexLevel listIndexNames`,
  "what the servers of models have shown, of nobody": `readModelMeasures saveLearnedContext saveCounted readDialects saveLesson removeLesson`,
  "what nobody uses any more, or had to be kept long enough, of everybody": `listUnused removeKeptDecisions`,
  "which index serves everybody": `retireIndex findIndexRecord ServingIndex.name ServingIndex.open EpisodeIndex.name EpisodeIndex.open`,
  "whole indexes, of everybody": `SearchStore.openIndex SearchStore.levelOf SearchStore.listIndexes SearchStore.dropIndex SearchIndex.flush VectorIndex.flush SearchStore.check
    SearchStore.close Readiness.prepare PreparedCollection.isThere PreparedCollection.isLite PreparedCollection.prepare`,
  "a number, for operators": `SearchIndex.count VectorIndex.count EpisodeStore.countExchanges findOldestWaiting countRows`,
  "run a call that says whose data it is about": `Readiness.read Readiness.change Readiness.write`,
  "rebuild the index of everybody, and give whose the rows are": `ChunkStore.listDocumentsUnindexed EpisodeStore.listUnindexed`,
  "clean up after everybody, and give nothing": `releaseDeadLeases clearOldTurns removeThoughts`,
  "name claims of jobs, or an erasure, that this process was given": `JobTransaction.settle JobTransaction.fail JobTransaction.bury JobQueue.keepUnended JobQueue.settleIf JobQueue.touch ErasureStore.purgeRows
    ErasureStore.nextGroups ErasureStore.finish`,
  "workers do the jobs of everybody, each of which says whose it is": `JobTransaction.add JobQueue.claim JobQueue.watch`,
  "go on with the turns of everybody, each of which says whose it is": `QuestionStore.takeDue QuestionStore.untilDue`,
  "the embedded database as a whole": `JobTransaction.addVacuum listTables rewriteTable dropOldLog isBusy lastErase`,
  "for operators, who may export everybody; a selection names tenant and user": `exportLines`,
};
const NAMES_OF_NO_TENANT = Object.values(OF_NO_TENANT).flatMap((names) => names.split(/\s+/));

const OF_A_TENANT = [
  /^(Agent|McpServer|Rule|Skill)Store\./,
  /^Knowledge(BaseStore|Catalog)\./,
  /^DocumentStore\./,
  /^ChunkStore\./,
  /^addChunkSweeps$/,
  /^TokenUsageStore\.add$/,
  /^UsageStore\.costOfDay$/,
  /^AgentRunStore\.stats$/,
  /^JobOverview\.(count|listDead|retryDead)$/, // for callers who act for every user of a tenant
];

describe("functions of the stores", () => {
  const signatures = storeSignatures();

  test("are found by these tests", () => {
    const names = signatures.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(90);
    for (const one of ["TurnStore.begin", "SearchIndex.searchWords", "loadEpisodeTexts", "KnowledgeBaseStore.list"])
      expect(names).toContain(one);
  });

  test("cannot be called without a tenant, unless their data belongs to none", () => {
    const without = signatures.filter(({ demands }) => !demands.has("tenantId") && !demands.has("ownerKey")).map(({ name }) => name);
    expect(without.toSorted()).toEqual(NAMES_OF_NO_TENANT.toSorted());
  });

  test("cannot be called without a user when the data is a user's", () => {
    const isOfUser = ({ name }: StoreSignature): boolean =>
      !NAMES_OF_NO_TENANT.includes(name) && !OF_A_TENANT.some((pattern) => pattern.test(name));
    const without = signatures.filter((one) => isOfUser(one) && !one.demands.has("userId") && !one.demands.has("ownerKey"));
    expect(without.map(({ name }) => name)).toEqual([]);
    for (const pattern of OF_A_TENANT) expect(signatures.some(({ name }) => pattern.test(name))).toBe(true);
  });
});
