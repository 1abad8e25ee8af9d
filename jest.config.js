/**
 * Where tests stand that kill, race, install, repeat or need much data, and those of the commands, the benchmarks and the clients and models
 * of others. They run with `npm run test:hard`, all others with `npm test`. A name is a folder or the beginning of a file's name.
 */
const HARD = [
  "agents/mcp/official-servers",
  "benchmarks/",
  "frontends/",
  "hard/",
  "memory/episodes/rebuild-",
  "memory/jobs/jobs-outlive-their-processes",
  "memory/jobs/jobs-of-processes",
  "memory/jobs/jobs-that-end-their-process",
  "memory/documents/parsing/hostile-documents",
  "memory/recall/same-on-every-store",
  "models/wire/fuzz-thoughts",
  "models/wire/thoughts-of-a-real-model",
  "package/",
  "readme",
  "repeated/",
  "scripts/",
  "server/api/memory/lost-index",
  "server/erase/large-erase",
  "server/http/lists",
  "server/http/slow-readers",
  "server/langgraph/pypi-clients",
  "server/openai/tools/clients-of-a-real-model",
  "server/openai/tools/pypi-clients",
  "server/studio/studio",
  "server/turns/silent-postgres",
  "server/turns/turns-across-processes",
  "stores/postgres/database/replaced-migrations",
  "stores/postgres/export/round-trip",
  "stores/search/milvus-search-store",
  "stores/search/milvus-standalone",
  "walks",
];

/** A regular expression for the paths of those. */
export const HARD_PATHS = `/test/(?:${HARD.join("|")})`;

/** What both commands share. Jest runs the TypeScript sources as ES modules; package.json's `test` scripts have the Node flag this needs. */
export const settings = {
  testEnvironment: "<rootDir>/test/support/shared-code.js",
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "\\.ts$": ["@swc/jest", { jsc: { parser: { syntax: "typescript" }, target: "es2023" }, module: { type: "es6" } }],
  },
  // Property tests try the same cases in every run.
  moduleNameMapper: { "^fast-check$": "<rootDir>/test/support/fast-check.ts" },
  globalSetup: "<rootDir>/test/support/global-setup.ts",
  globalTeardown: "<rootDir>/test/support/global-teardown.ts",
  // Only a test that hangs reaches it: on a busy machine tests take ten times as long as on a quiet one.
  testTimeout: 300_000,
  testSequencer: "<rootDir>/test/support/slowest-first.js",
  // On two cores: more than half of the time tests wait for servers, processes and retries.
  maxWorkers: 4,
  // What a test file has loaded as ES modules stays in its worker: after a hundred files one had no memory left (4 GB of heap).
  workerIdleMemoryLimit: "1GB",
  // On a busy machine a process of a gigabyte needs longer than half a second to end. One that is still there then has left something open.
  workerGracefulExitTimeout: 30_000,
};

/** What a change needs: `npm test`. */
export default {
  ...settings,
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  testPathIgnorePatterns: [`<rootDir>${HARD_PATHS}`],
  // With --coverage, as in .ci/run: what Jest's own processes run of the nodes, file by file. Jest does not see what services of dist/ run:
  // docs/decisions/0100-tests-over-http-start-what-is-built.md
  collectCoverageFrom: ["nodes/**/*.ts"],
  coverageReporters: ["text"],
  coverageThreshold: { global: { statements: 65, branches: 58, functions: 68, lines: 66 } },
};
