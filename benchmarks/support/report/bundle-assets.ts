import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Assets } from "./report-page.ts";

const PAGE = fileURLToPath(new URL("../../report-page", import.meta.url));

/** The page's script and styles with the libraries that draw, each as one text. */
export async function bundleAssets(): Promise<Assets> {
  const { outputFiles } = await build({
    entryPoints: { report: `${PAGE}/draw-report.ts` },
    outdir: "unused",
    write: false,
    bundle: true,
    format: "iife",
    target: "es2022",
    minify: true,
    legalComments: "none",
    logLevel: "warning",
  });
  const textOf = (end: string): string => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? "";
  return { script: textOf(".js"), style: textOf(".css") };
}
