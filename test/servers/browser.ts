import { access } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { succeeds } from "../support/wait-until.ts";

export const CHROMIUM = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
const BUILT_PAGE = fileURLToPath(new URL("../../dist/web/index.html", import.meta.url));

/** Why there is nothing to look at the page with; undefined when there is. Throws when the page is not built. */
export async function whyNoBrowser(): Promise<string | undefined> {
  if (!(await succeeds(access(CHROMIUM)))) return "no chromium";
  if (!(await succeeds(access(BUILT_PAGE)))) throw new Error("the page is not built: run npm run build");
  return undefined;
}

/** Without the check of newer Chromiums that keeps public pages from this machine: most browsers have none. */
const WITHOUT_NETWORK_CHECK = "--disable-features=LocalNetworkAccessChecks";

/** `hostRules` says which names lead where, as `--host-resolver-rules` takes them; then no check of networks stands in between. */
export async function openBrowser(hostRules?: string): Promise<Browser> {
  const rules = hostRules === undefined ? [] : [`--host-resolver-rules=${hostRules}`, WITHOUT_NETWORK_CHECK];
  const { chromium } = await import("playwright-core"); // most test files only ask whether there is a browser
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage", ...rules] });
}
