import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import { build, type Plugin } from "esbuild";

const FROM = "web";
const TO = "dist/web";
const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

/**
 * Puts what the first view needs into one script: esbuild makes one for each set of views that share a module. A view that is loaded later
 * imports the whole first view, so that there is one such set.
 */
const oneFirstView: Plugin = {
  name: "one-first-view",
  setup(bundler) {
    const loadedLater = new Set<string>();
    bundler.onResolve({ filter: /\.tsx$/ }, ({ kind, path: file, resolveDir }) => {
      if (kind === "dynamic-import") loadedLater.add(path.resolve(resolveDir, file));
      return null;
    });
    bundler.onLoad({ filter: /\.tsx$/ }, async ({ path: file }) => {
      if (!loadedLater.has(file)) return null;
      return { contents: `${await readFile(file, "utf8")}\nimport ${JSON.stringify(path.resolve(FROM, "main.tsx"))};`, loader: "tsx" };
    });
  },
};

// The page's scripts and styles, each named after its content, and index.html, which names them. Every file also lies there compressed.
await rm(TO, { recursive: true, force: true });
const { metafile, warnings } = await build({
  entryPoints: { page: `${FROM}/main.tsx`, styles: `${FROM}/styles/index.css` },
  outdir: `${TO}/assets`,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  metafile: true,
  plugins: [oneFirstView],
  legalComments: "linked",
  logLevel: "warning",
});

// A broken rule of a style is a warning, and the page would be without it.
if (warnings.length > 0) throw new Error(`the page has ${warnings.length} of the warnings above: mend them`);

const written = Object.entries(metafile.outputs);
const addressOf = (file: string): string => `/assets/${path.basename(file)}`;
function outputOf(entryPoint: string) {
  const found = written.find(([, output]) => output.entryPoint === entryPoint);
  if (found === undefined) throw new Error(`nothing was built from ${entryPoint}`);
  return { address: addressOf(found[0]), imports: found[1].imports.filter(({ kind }) => kind === "import-statement") };
}
const script = outputOf(`${FROM}/main.tsx`);
const preloads = script.imports.map(({ path: file }) => `<link rel="modulepreload" href="${addressOf(file)}" />`);
const page = (await readFile(`${FROM}/index.html`, "utf8"))
  .replace("%SCRIPT%", () => script.address)
  .replace("%PRELOADS%", () => preloads.join(""))
  .replace("%STYLES%", () => outputOf(`${FROM}/styles/index.css`).address);
await writeFile(`${TO}/index.html`, page);

for (const file of [`${TO}/index.html`, ...written.map(([name]) => name)]) {
  const content = await readFile(file);
  await writeFile(`${file}.br`, await compressBrotli(content));
  await writeFile(`${file}.gz`, await compressGzip(content, { level: 9 }));
}
