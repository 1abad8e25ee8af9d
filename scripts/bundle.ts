import { build, type BuildOptions, type Metafile } from "esbuild";

/** PGlite loads its WebAssembly from its own folder. The others are optional. */
const EXTERNAL = ["@electric-sql/*", "pg-native", "@napi-rs/canvas", "file-type", "tesseract.js", "puppeteer"];
/** The library's caller has them too: messages, models, graphs and schemas are known by their classes. */
const OF_THE_CALLER = ["@langchain/core", "@langchain/langgraph", "@langchain/openai", "zod"];

/** Its exports take the place of globals that Node 22 lacks. */
const REPLACED_GLOBALS = "scripts/disposable-stack.ts";

const shared: BuildOptions = {
  outdir: "dist",
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node22",
  // Names stay: a log shows stacks.
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 160,
  sourcemap: true,
  sourcesContent: false,
  legalComments: "none",
  logLevel: "warning",
  // For CommonJS packages that require Node's own modules.
  banner: { js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);' },
};

/**
 * A chunk made of a CommonJS package exports `default` alone: names from its `import()` are undefined. A file of ours that imports the
 * package, and is itself loaded by `import()`, gets them.
 */
function refuseDynamicCommonJs({ inputs }: Metafile): void {
  for (const [file, { imports }] of Object.entries(inputs))
    for (const { kind, path } of imports)
      if (kind === "dynamic-import" && inputs[path]?.format === "cjs")
        throw new Error(`${file} loads ${path} by import(), which has no names in the bundle: import it in a file that is loaded so`);
}

export async function bundle(options: BuildOptions): Promise<Metafile> {
  const { metafile } = await build({ ...shared, inject: [REPLACED_GLOBALS], ...options, metafile: true });
  refuseDynamicCommonJs(metafile);
  return metafile;
}

export function bundleService({ write }: { write: boolean }): Promise<Metafile> {
  const entryPoints = {
    "conversation-graph": "scripts/conversation-graph.ts",
    main: "server/main.ts",
    "pglite-worker": "stores/postgres/database/pglite-worker.ts",
    "parse-worker": "memory/documents/parsing/parse-worker.ts",
  };
  return bundle({ entryPoints, external: EXTERNAL, write });
}

export function bundleLibrary({ write }: { write: boolean }): Promise<Metafile> {
  return bundle({ entryPoints: { index: "server/index.ts" }, external: [...EXTERNAL, ...OF_THE_CALLER], write });
}
