import { defineConfig, globalIgnores } from "eslint/config";
import { createNodeResolver, importX } from "eslint-plugin-import-x";
import * as regexp from "eslint-plugin-regexp";
import tseslint from "typescript-eslint";
import { FLOORS } from "./scripts/house/floors.ts";

/** Expressions of the service and its page read what users and models wrote: none may take more than linear time. */
const linearExpressions = {
  files: ["**/*.ts", "**/*.tsx"],
  ignores: ["test/**", "benchmarks/**"],
  plugins: { regexp },
  rules: {
    "regexp/no-super-linear-backtracking": ["error", { report: "potential" }],
    "regexp/no-super-linear-move": ["error", { report: "certain" }],
  },
};

/** A room imports only from rooms on lower lines of scripts/house/floors.ts. */
const zones = FLOORS.flatMap((floor, index) => {
  const notBelow = FLOORS.slice(0, index + 1).flat();
  return floor.map((room) => ({
    target: `./${room}/*`,
    from: notBelow.filter((other) => other !== room).map((other) => `./${other}/*`),
    message: `${room} may not import from there: see scripts/house/floors.ts.`,
  }));
}).filter(({ from }) => from.length > 0);

const everything = {
  files: ["**/*.ts", "**/*.tsx"],
  extends: [tseslint.configs.recommendedTypeChecked],
  plugins: { "import-x": importX },
  languageOptions: { parserOptions: { projectService: true } },
  settings: {
    "import-x/resolver-next": [createNodeResolver({ extensions: [".ts", ".tsx", ".js"] })],
    "import-x/parsers": { "@typescript-eslint/parser": [".ts", ".tsx"] },
    "import-x/ignore": ["node_modules"],
  },
  rules: {
    "max-lines": ["error", 250],
    "import-x/no-cycle": ["error", { ignoreExternal: true }],
    "import-x/no-restricted-paths": ["error", { zones }],
    "@typescript-eslint/consistent-type-imports": "error",
    "@typescript-eslint/explicit-module-boundary-types": "off",
    "@typescript-eslint/no-explicit-any": "error",
    "@typescript-eslint/no-floating-promises": "error",
    "@typescript-eslint/no-misused-promises": "error",
    // A function of an interface may be async because others that implement it are.
    "@typescript-eslint/require-await": "off",
    // Reasons of an AbortSignal are whatever was given to abort().
    "@typescript-eslint/only-throw-error": "off",
    "@typescript-eslint/prefer-promise-reject-errors": "off",
  },
};

export default defineConfig(
  globalIgnores(["dist", "coverage", "web/api/described.ts", "benchmarks/peers", "**/*.js"]),
  everything,
  linearExpressions,
);
