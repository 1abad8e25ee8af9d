import { defineConfig, globalIgnores } from "eslint/config";
import { createNodeResolver, importX } from "eslint-plugin-import-x";
import tseslint from "typescript-eslint";

export default defineConfig(globalIgnores(["dist", "coverage", "benchmarks/peers", "**/*.js"]), {
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
});
