import { existsSync } from "node:fs";
import type { Browser } from "playwright-core";
import { CHROMIUM, openBrowser } from "../test/servers/browser.ts";
import { startPostgresServer } from "../test/servers/postgres-server.ts";
import { defineBench } from "./support/bench.ts";
import { makeSamples } from "./support/figures.ts";
import type { Progress } from "./support/progress.ts";
import type { Measured } from "./support/results.ts";
import { startModel, startService } from "./support/start-process.ts";

const TOKENS = 5_000;
/** A screen of 60 Hz shows two frames in this time, as browsers round it. */
const LONGEST_FRAME_MS = 33.4;
const MOST_SHIFT = 0.1;
const PATIENCE_MS = 300_000;

/** What the browser saw: times in milliseconds, the shift as the sum of its scores. */
interface Seen {
  frames: number[];
  tasks: number[];
  shift: number;
  paint: number;
}

const WATCH = `
  window.seen = { frames: [], tasks: [], shift: 0, paint: 0 };
  const watch = (type, see) => new PerformanceObserver((list) => list.getEntries().forEach(see)).observe({ type, buffered: true });
  watch("longtask", ({ duration }) => seen.tasks.push(duration));
  watch("layout-shift", ({ value, hadRecentInput }) => hadRecentInput || (seen.shift += value));
  watch("paint", ({ name, startTime }) => name === "first-contentful-paint" && (seen.paint = startTime));
  let last;
  requestAnimationFrame(function frame(now) {
    if (last !== undefined) seen.frames.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  });
  localStorage.setItem("conversation-graph.user", "bench");
`;
const BEGIN_ANEW = "(() => { const before = seen; seen = { ...before, frames: [], tasks: [] }; return before; })()";

/** Opens the page in an empty browser, and has one list streamed. */
async function openAndAsk(browser: Browser, url: string): Promise<{ opened: Seen; streamed: Seen }> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 850 }, locale: "en-GB" });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  await page.addInitScript(WATCH);
  await page.goto(url);
  await page.locator(".welcome-cards").waitFor();
  await page.waitForTimeout(1_000); // what comes late may still move something
  const opened = await page.evaluate<Seen>(BEGIN_ANEW);
  await page.locator("#message").fill("Talk.");
  await page.locator("#message").press("Enter");
  await page.locator("article.from-assistant[aria-busy=false]", { hasText: `word${TOKENS - 1}` }).waitFor();
  const streamed = await page.evaluate<Seen>("window.seen");
  await context.close();
  return { opened, streamed };
}

async function run({ rounds }: Record<"rounds", number>, progress: Progress): Promise<Measured> {
  await using opened = new AsyncDisposableStack();
  progress.step("starting the service");
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const model = await startModel(opened, TOKENS, 1, "list");
  const off = { ENABLE_EPISODIC_MEMORY: "false", ENABLE_CORE_MEMORY: "false", ENABLE_SUMMARY: "false" };
  const service = await startService(model.line, { DATABASE_URL: postgres.url, ...off });
  opened.defer(() => service.stop());
  const browser = await openBrowser();
  opened.defer(() => browser.close());
  const samples = makeSamples();
  for (let round = 0; round < rounds; round++) {
    progress.step("rounds", round, rounds);
    const seen = await openAndAsk(browser, service.line);
    samples.add("first paint", round, seen.opened.paint);
    samples.add("layout shift", round, seen.opened.shift);
    samples.add("longest task of opening", round, Math.max(0, ...seen.opened.tasks));
    samples.add("frames of a list", round, ...seen.streamed.frames);
    samples.add("longest task of a list", round, Math.max(0, ...seen.streamed.tasks));
  }
  const figures = [
    samples.figure("first paint", "ms"),
    samples.figure("layout shift", "score", { goal: { atMost: MOST_SHIFT } }),
    samples.figure("longest task of opening", "ms"),
    samples.figure("frames of a list", "ms", { goal: { atMost: LONGEST_FRAME_MS, of: "p99" } }),
    samples.figure("longest task of a list", "ms"),
  ];
  const notes = [
    `Chromium without a screen, each round with nothing kept. A list of ${TOKENS.toLocaleString("en")} tokens, one a millisecond. A task counts from 50 ms on; 0: there was none.`,
  ];
  return { figures, notes };
}

export const page = defineBench({
  asks: "How soon the page is there, and how smoothly it shows one long list",
  minutes: { short: 1, long: 3 },
  numbers: { rounds: { of: "rounds", short: 2, long: 6 } },
  whyNot: () => (existsSync(CHROMIUM) ? undefined : `it needs Chromium, and there is none at ${CHROMIUM}; set CHROMIUM_PATH`),
  run,
});
