import { readFile } from "node:fs/promises";
import path from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";

const FROM = "web";

/**
 * Puts the first view into one script: esbuild makes one for each set of views that share a module. Later views import the whole first
 * view, so that there is one such set.
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

/** The page's scripts and styles, named after their content. Throws for a broken rule of a style. */
export async function bundlePage({ write }: { write: boolean }): Promise<Metafile> {
  const { metafile, warnings } = await build({
    entryPoints: { page: `${FROM}/main.tsx`, styles: `${FROM}/styles/index.css` },
    outdir: "dist/web/assets",
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
    write,
  });
  if (warnings.length > 0) throw new Error(`the page has ${warnings.length} of the warnings above: mend them`);
  return metafile;
}
