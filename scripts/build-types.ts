import { execFileSync } from "node:child_process";
import { globSync, rmSync } from "node:fs";
import path from "node:path";

const tsc = (...options: string[]): string =>
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", ...options], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });

// The declarations that the package's own one reaches. The others need the types of packages inside the bundle.
tsc("-p", "tsconfig.build.json");
const reached = tsc("--listFilesOnly", "--module", "nodenext", "--target", "es2023", "dist/types/server/index.d.ts").split("\n");
const kept = new Set(reached.map((file) => path.resolve(file)));
for (const file of globSync("dist/types/**/*.d.ts")) if (!kept.has(path.resolve(file))) rmSync(file);
