import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import { bundlePage } from "./bundle-page.ts";

const FROM = "web";
const TO = "dist/web";
const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

// The page's scripts and styles, named after their content, and index.html. Every file also lies there compressed.
await rm(TO, { recursive: true, force: true });
const metafile = await bundlePage({ write: true });
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
