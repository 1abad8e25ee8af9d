import type { Browser } from "playwright-core";
import { openBrowser } from "./browser.ts";

/** Longer than from one file that gives the browser back to the next that borrows it. */
const IDLE_MS = 5_000;

let opened: Promise<Browser> | undefined;
let borrowers = 0;
let idle: NodeJS.Timeout | undefined;

/** Starts a browser. One that does not start or breaks down is not lent again. */
function start(): Promise<Browser> {
  const starting = openBrowser();
  const forget = (): void => void (opened === starting && (opened = undefined));
  void starting.then((browser) => browser.on("disconnected", forget), forget);
  return starting;
}

/** Ends the browser, if one runs. */
export async function closeSharedBrowser(): Promise<void> {
  clearTimeout(idle);
  const browser = opened;
  opened = undefined;
  await (await browser)?.close();
}

declare global {
  /** Given to test files by Jest's environment. */
  var borrowBrowser: () => Promise<{ browser: Browser; giveBack: () => unknown }>;
}

/** The browser of all test files of this worker: started for the first that borrows it, ended when nobody has had it for a while. */
export const borrowBrowser: typeof globalThis.borrowBrowser = async () => {
  clearTimeout(idle);
  const browser = await (opened ??= start());
  borrowers++;
  return {
    browser,
    giveBack: () => {
      if (--borrowers === 0) idle = setTimeout(() => void closeSharedBrowser(), IDLE_MS);
    },
  };
};
