import type { Browser, Page } from "playwright-core";
import { openBrowser, whyNoBrowser } from "../test/servers/browser.ts";
import { startModelServer } from "../test/servers/model-server.ts";
import { freePort } from "../test/servers/postgres-server.ts";
import { startProcess } from "./support/start-process.ts";
import { figureOf, type Figure } from "./support/figures.ts";
import type { Progress } from "./support/progress.ts";
import { distribution, type Distribution } from "./support/statistics.ts";
import { writeResults } from "./support/write-results.ts";

const LOADS = Number(process.env["BENCH_ROUNDS"] ?? 10);
const TOKENS = 5_000;
/** Milliseconds between tokens; Node's timers make it a little more. */
const BETWEEN_MS = 1;
const DROPPED_MS = 50;

/** Watches from the page itself: what passes between two animation frames, and tasks that hold the page up for 50 ms or more. */
const WATCH = `
  window.watched = { frames: [], tasks: [], on: true };
  new PerformanceObserver((list) => watched.tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
  let last = performance.now();
  requestAnimationFrame(function next(now) {
    watched.frames.push(now - last);
    last = now;
    if (watched.on) requestAnimationFrame(next);
  });`;

interface Watched {
  frames: number[];
  tasks: number[];
}

interface Frames {
  longestFrameMs: number;
  framesOver50Ms: number;
  frames: number;
  longestTaskMs: number;
}

function toFrames({ frames, tasks }: Watched): Frames {
  return {
    longestFrameMs: Math.max(...frames),
    framesOver50Ms: frames.filter((ms) => ms > DROPPED_MS).length,
    frames: frames.length,
    longestTaskMs: Math.max(0, ...tasks),
  };
}

const section = (number: number): string =>
  `## Part ${number}\n\nThe **rolling** summary stands for older messages, and \`retrieve\` finds what fits; see [the guide](https://example.org/${number}).\n\n` +
  `- one thing that matters here\n- another thing, a little longer than the first\n- and a third\n\n` +
  "```ts\nconst answer = await graph.invoke({ message });\nconsole.log(answer);\n```\n\n" +
  "A closing paragraph of some length, so that lines are wrapped and the page has something to set anew while it grows.\n\n";
const many = (part: (number: number) => string): string => Array.from({ length: 2_000 }, (_, index) => part(index + 1)).join("");

/** What models write, headings, paragraphs, lists and code, three times; and what is one block from its first token to its last. */
const ANSWERS: readonly (readonly [string, string])[] = [
  ["Markdown", many(section)],
  ["Markdown", many(section)],
  ["Markdown", many(section)],
  ["one list", many((number) => `- item ${number} that **matters** a little more than others\n`)],
  ["one table", `| a | b | c |\n|---|---|---|\n${many((number) => `| ${number} | something of *some* length | and more |\n`)}`],
  ["one block of code", `\`\`\`ts\n${many((number) => `const answer${number} = await graph.invoke({ message: ${number} });\n`)}`],
  ["one paragraph", many((number) => `Sentence ${number} of a paragraph that does not end, with **strong** words and \`code\`. `)],
];

/** A text in tokens of a few characters. */
function toTokens(text: string): string[] {
  return (text.match(/\s*\S{1,6}/g) ?? []).slice(0, TOKENS);
}

async function firstPaintOf(page: Page, address: string): Promise<number> {
  await page.goto(address);
  for (;;) {
    const paint = await page.evaluate<number | undefined>("performance.getEntriesByName('first-contentful-paint')[0]?.startTime");
    if (paint !== undefined) return paint;
    await page.waitForTimeout(20);
  }
}

interface Load {
  firstPaints: number[];
  firstPaintMs: Distribution;
  scriptBytes: number;
  styleBytes: number;
}

/** Each load in a context of its own, so with nothing kept from the one before. */
async function measureLoads(browser: Browser, address: string): Promise<Load> {
  const firstPaints: number[] = [];
  const bytes = { script: 0, css: 0 };
  for (let load = 0; load < LOADS; load++) {
    const context = await browser.newContext();
    const page = await context.newPage();
    firstPaints.push(await firstPaintOf(page, address));
    await page.waitForLoadState("networkidle");
    const sizes = await page.evaluate<{ name: string; encodedBodySize: number }[]>(
      "performance.getEntriesByType('resource').map(({ name, encodedBodySize }) => ({ name, encodedBodySize }))",
    );
    const total = (end: string): number =>
      sizes.filter(({ name }) => name.endsWith(end)).reduce((sum, one) => sum + one.encodedBodySize, 0);
    [bytes.script, bytes.css] = [total(".js"), total(".css")];
    await context.close();
  }
  return { firstPaints, firstPaintMs: distribution(firstPaints), scriptBytes: bytes.script, styleBytes: bytes.css };
}

/** An answer of 5,000 tokens, and the same page for as long with nothing to do: what the machine itself costs. */
async function measureAnswer(browser: Browser, url: string, user: string): Promise<{ answer: Frames; idle: Frames; seconds: number }> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 850 } });
  const page = await context.newPage();
  await page.addInitScript(`localStorage.setItem("conversation-graph.user", ${JSON.stringify(user)})`);
  await page.goto(url);
  await page.locator("#message").fill("Tell me everything");
  const watch = async (during: () => Promise<unknown>): Promise<Watched> => {
    await page.evaluate(WATCH);
    await during();
    return page.evaluate<Watched>("(watched.on = false, watched)");
  };
  const began = performance.now();
  const answer = await watch(async () => {
    await page.locator("#message").press("Enter");
    await page.locator("article.from-assistant[aria-busy=false]").waitFor({ timeout: 120_000 });
    await page.waitForTimeout(500); // the last blocks are still set
  });
  const ms = performance.now() - began;
  const idle = await watch(() => page.waitForTimeout(ms));
  await context.close();
  return { answer: toFrames(answer), idle: toFrames(idle), seconds: ms / 1_000 };
}

type MeasuredAnswer = Awaited<ReturnType<typeof measureAnswer>> & { shape: string };

/** What the script of the page may weigh, as it is sent. */
const MOST_BYTES = 100_000;

function figuresOf(load: Load, reference: Load, answers: readonly MeasuredAnswer[]): Figure[] {
  const plain = "first paint of a line of plain text";
  const byShape = [...new Set(answers.map(({ shape }) => shape))].flatMap((shape) => {
    const own = answers.filter((answer) => answer.shape === shape);
    const runs = (value: (measured: MeasuredAnswer) => number): number[][] => own.map((measured) => [value(measured)]);
    const idle = `longest frame of the idle page, after ${shape}`;
    return [
      figureOf(idle, "ms", runs((measured) => measured.idle.longestFrameMs)), // prettier-ignore
      figureOf(`longest frame, ${shape}`, "ms", runs(({ answer }) => answer.longestFrameMs), { reference: idle }), // prettier-ignore
      figureOf(`frames over ${DROPPED_MS} ms, ${shape}`, "frames", runs(({ answer }) => answer.framesOver50Ms), { goal: { atMost: 0, of: "p99" } }), // prettier-ignore
    ];
  });
  return [
    figureOf("script of the first load, compressed", "bytes", [[load.scriptBytes]], { goal: { atMost: MOST_BYTES } }),
    figureOf("styles, compressed", "bytes", [[load.styleBytes]]),
    figureOf(plain, "ms", [reference.firstPaints]),
    figureOf("first contentful paint, nothing cached", "ms", [load.firstPaints], { reference: plain }),
    ...byShape,
  ];
}

/** What the page costs to load, and whether it keeps up with an answer. Prints that nothing was measured where there is no browser. */
export async function benchPage(progress: Progress): Promise<void | "skipped"> {
  const missing = await whyNoBrowser();
  if (missing) {
    process.stdout.write(`page: not measured (${missing})\n`);
    return "skipped";
  }
  await using opened = new AsyncDisposableStack();
  const model = await startModelServer({ keepSeen: false });
  opened.defer(() => model.close());
  const port = String(await freePort());
  const environment = { PORT: port, DATA_DIR: "memory://", OPENAI_BASE_URL: model.url, ENABLE_EPISODIC_MEMORY: "false", ENABLE_CORE_MEMORY: "false", ENABLE_SUMMARY: "false" }; // prettier-ignore
  const service = await startProcess("server/main.ts", /listening on/, { environment });
  opened.defer(() => service.stop());
  const browser = await openBrowser();
  opened.defer(() => browser.close());

  const url = `http://127.0.0.1:${port}`;
  progress.step("loads");
  const load = await measureLoads(browser, url);
  const reference = await measureLoads(browser, `${url}/healthz`);
  const answers = [];
  for (const [round, [shape, text]] of ANSWERS.entries()) {
    progress.step("answers", round, ANSWERS.length);
    model.answer({ tokens: toTokens(text), betweenMs: BETWEEN_MS });
    answers.push({ shape, ...(await measureAnswer(browser, url, `bench ${round}`)) });
  }

  const show = (ms: number): string => ms.toFixed(0);
  process.stdout.write(
    [
      `page: ${load.scriptBytes} bytes of compressed script, ${load.styleBytes} of styles`,
      `first paint: ${show(load.firstPaintMs.p50)} ms (p50 of ${LOADS}); reference, a line of plain text: ${show(reference.firstPaintMs.p50)} ms`,
      ...answers.map(
        ({ shape, answer, idle, seconds }) =>
          `${TOKENS} tokens of ${shape} in ${seconds.toFixed(1)} s: longest frame ${show(answer.longestFrameMs)} ms, ${answer.framesOver50Ms} of ${answer.frames} over ${DROPPED_MS} ms, ` +
          `longest task ${show(answer.longestTaskMs)} ms; reference, the same page idle: longest frame ${show(idle.longestFrameMs)} ms, ${idle.framesOver50Ms} over ${DROPPED_MS} ms`,
      ),
      "",
    ].join("\n"),
  );
  const notes = [
    `Chromium without a GPU, the service and its model on the same cores. Answers of ${TOKENS.toLocaleString("en")} tokens; the reference is the same page with nothing to do for as long.`,
  ];
  await writeResults("page", { figures: figuresOf(load, reference, answers), notes, load, reference, answers });
}
