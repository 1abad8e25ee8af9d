/** Jest runs the TypeScript sources as ES modules; see the `test` scripts of package.json for the Node flag this needs. */
export default {
  testEnvironment: "node",
  testMatch: ["<rootDir>/test/**/*.test.ts"],
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
  // With --coverage, as in .ci/run: what Jest's own processes run of the nodes, file by file. Jest does not see what services of dist/ run:
  // docs/decisions/0100-tests-over-http-start-what-is-built.md
  collectCoverageFrom: ["nodes/**/*.ts"],
  coverageReporters: ["text"],
  coverageThreshold: { global: { statements: 65, branches: 58, functions: 68, lines: 66 } },
  testSequencer: "<rootDir>/test/support/slowest-first.js",
  // On two cores: more than half of the time tests wait for servers, processes and retries.
  maxWorkers: 4,
  // What a test file has loaded as ES modules stays in its worker: after a hundred files one had no memory left (4 GB of heap).
  workerIdleMemoryLimit: "1GB",
  // On a busy machine a process of a gigabyte needs longer than half a second to end. One that is still there then has left something open.
  workerGracefulExitTimeout: 30_000,
};
