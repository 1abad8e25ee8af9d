import { expect, test } from "@jest/globals";
import { describePage, startOfflineService } from "./tested-page.ts";

const KEY = "key-of-acme-long-enough";

describePage(
  "the page /docs of a service with keys",
  () => startOfflineService({ API_KEYS: `${KEY}:acme` }),
  (on) => {
    test("opens without a key, and calls a route with the key that is entered", async () => {
      const { page } = await on.open({ at: "/docs", user: null });
      await page.getByRole("button", { name: "Authorize" }).first().click();
      await page.locator(".auth-container input").fill(KEY);
      await page.locator(".auth-container button.authorize").click();
      await page.locator("button.btn-done").click();
      const route = page.locator("#operations-turns-listQuestions");
      await route.locator(".opblock-summary-control").click();
      await route.getByRole("button", { name: "Try it out" }).click();
      await route.locator("[data-param-name=user_id] input").fill("ada");
      await route.getByRole("button", { name: "Execute" }).click();
      const answered = route.locator(".live-responses-table tbody td.response-col_status").first();
      await answered.waitFor();
      expect(await answered.innerText()).toContain("200");
    });
  },
);
