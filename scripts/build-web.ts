import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import { build } from "esbuild";

const FROM = "web";
const TO = "dist/web";
const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

// The page's scripts and styles, each named after its content, and index.html, which names them. Every file also lies there compressed.
await rm(TO, { recursive: true, force: true });
const { metafile } = await build({
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
  legalComments: "linked",
  logLevel: "warning",
});

const written = Object.entries(metafile.outputs);
function addressOf(entryPoint: string): string {
  const [file] = written.find(([, output]) => output.entryPoint === entryPoint) ?? [];
  if (file === undefined) throw new Error(`nothing was built from ${entryPoint}`);
  return `/assets/${path.basename(file)}`;
}
const page = (await readFile(`${FROM}/index.html`, "utf8"))
  .replace("%SCRIPT%", () => addressOf(`${FROM}/main.tsx`))
  .replace("%STYLES%", () => addressOf(`${FROM}/styles/index.css`));
await writeFile(`${TO}/index.html`, page);

for (const file of [`${TO}/index.html`, ...written.map(([name]) => name)]) {
  const content = await readFile(file);
  await writeFile(`${file}.br`, await compressBrotli(content));
  await writeFile(`${file}.gz`, await compressGzip(content, { level: 9 }));
}
