import everything from "./jest.config.js";

const { globalSetup: _setUp, globalTeardown: _tearDown, ...settings } = everything;

/** The tests that start no database and so need no global set-up: what `npm run check` runs, in seconds. */
export default {
  ...settings,
  testMatch: [
    "<rootDir>/test/{errors,models,nodes,text}/**/*.test.ts",
    "<rootDir>/test/memory/*.test.ts",
    "<rootDir>/test/memory/parsing/**/*.test.ts",
    "<rootDir>/test/memory/{jobs,summary,episodes}/!(run-*|jobs-that-end-*|summarise-conversation*|no-blind-spot*|summary-in-trouble*|index-episodes|rebuild-*|jobs-without-an-index).test.ts",
    "<rootDir>/test/memory/recall/!(recall-*|foresee).test.ts",
    "<rootDir>/test/stores/search/!(search-index|milvus-*|lexical-text-in-postgres).test.ts",
    "<rootDir>/test/package/*-example.test.ts",
    "<rootDir>/test/package/docker-compose.test.ts",
    "<rootDir>/test/docs.test.ts",
  ],
};
