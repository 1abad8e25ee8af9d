import { expect, test } from "@jest/globals";
import { describePage, startModelService } from "../web/tested-page.ts";

const TIMES = 20;

describePage("the page", startModelService, (on) => {
  test("answers twenty messages, shows them after each of twenty reloads, and does not grow", async () => {
    on.model.answer({ tokens: ["It ", "is ", "so."] });
    const tested = await on.open();
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
  });
});
