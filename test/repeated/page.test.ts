import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { whyNoBrowser } from "../servers/browser.ts";
import { openPageWorld, type PageWorld } from "../web/page-world.ts";
import { closeWithoutProblems, openTestedPage } from "../web/tested-page.ts";

const TIMES = 20;
const missing = await whyNoBrowser();
if (missing) test.skip(`the page, twenty times (skipped: ${missing})`, () => undefined);

(missing ? describe.skip : describe)("the page", () => {
  let world: PageWorld;
  beforeAll(async () => {
    world = await openPageWorld();
    world.model.answer({ tokens: ["It ", "is ", "so."] });
  }, 120_000);
  afterAll(() => world?.close());

  test("answers twenty messages, shows them after each of twenty reloads, and grows no further", async () => {
    const tested = await openTestedPage(world.browser, world.url);
    const { page } = tested;
    for (let time = 1; time <= TIMES; time++) {
      await tested.say(`Message ${time}.`);
      await page
        .locator("article.from-assistant")
        .nth(time - 1)
        .getByText("It is so.", { exact: true })
        .waitFor();
      await tested.settled();
    }
    expect(await page.locator("article").count()).toBe(2 * TIMES);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Performance.enable");
    const countNodes = async (): Promise<number> => {
      await devtools.send("HeapProfiler.collectGarbage");
      const { metrics } = await devtools.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "Nodes")?.value ?? 0;
    };
    let early = 0;
    for (let time = 1; time <= TIMES; time++) {
      await page.reload();
      await page.getByText(`Message ${TIMES}.`, { exact: true }).last().waitFor();
      await page
        .locator("article")
        .nth(2 * TIMES - 1)
        .waitFor();
      if (time === 2) early = await countNodes();
    }
    expect(await countNodes()).toBeLessThan(2 * early);
    await closeWithoutProblems(tested);
  }, 180_000);
});
