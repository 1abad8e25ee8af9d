import { access } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { chromium, type Browser } from "playwright-core";

const CHROMIUM = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
const BUILT_PAGE = fileURLToPath(new URL("../../dist/web/index.html", import.meta.url));

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** Why there is nothing to look at the page with; undefined when there is. Throws when the page is not built. */
export async function whyNoBrowser(): Promise<string | undefined> {
  if (!(await isThere(CHROMIUM))) return "no chromium";
  if (!(await isThere(BUILT_PAGE))) throw new Error("the page is not built: run npm run build");
  return undefined;
}

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}
