import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";

const run = promisify(execFile);

/** In a process of its own: esbuild does not run within Jest. */
const bundling = (source: string) => {
  const stdin = { contents: source, resolveDir: "." };
  const script = `import { bundle } from "./scripts/bundle.ts"; await bundle(${JSON.stringify({ stdin, write: false })});`;
  return run(process.execPath, ["--input-type=module", "-e", script], { cwd: fileURLToPath(new URL("../../", import.meta.url)) });
};

test("the build refuses an import() of a CommonJS package, whose names are missing in the bundle", async () => {
  await expect(bundling('export const { Agent } = await import("undici");')).rejects.toThrow(
    /loads node_modules\/undici\/index\.js by import\(\)/,
  );
});

test("the build takes an import of a CommonJS package, and an import() of one with ES modules", async () => {
  await bundling('import { Agent } from "undici"; export const { create } = await import("mathjs/number"); export { Agent };');
});
