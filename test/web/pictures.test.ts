import { beforeEach, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { png } from "../support/samples/sample-pictures.ts";
import { waitUntil } from "../support/wait-until.ts";
import { findingsOn } from "./findings.ts";
import { describePage, startModelService, texts } from "./tested-page.ts";

const t = texts.pictures;
const LIMITS = { count: "4", each: "10 MiB", together: "20 MiB" };
const file = (name: string, buffer = png(40, 30), mimeType = "image/png") => ({ name, mimeType, buffer });

/** Gives the message field a picture as a browser does. */
const give = (page: Page, kind: "paste" | "drop", bytes: Buffer): Promise<void> =>
  page.evaluate<undefined>(`(() => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(${JSON.stringify([...bytes])})], "${kind}.png", { type: "image/png" }));
    const options = { bubbles: true, cancelable: true, ${kind === "paste" ? "clipboardData" : "dataTransfer"}: data };
    document.querySelector("#message").dispatchEvent(new ${kind === "paste" ? "ClipboardEvent" : "DragEvent"}("${kind}", options));
  })()`);

describePage(
  "on the page with pictures,",
  () => startModelService({ MAX_PICTURES: LIMITS.count }),
  (on) => {
    beforeEach(() => {
      on.model.seen.length = 0;
      on.model.answer({ tokens: ["Seen."] });
    });
    const lastContent = (): unknown => on.model.seen.at(-1)?.body.messages.at(-1)?.content;
    const width = (page: Page, label: string): Promise<number> =>
    page.getByRole("button", { name: t.open(label) }).locator("img").evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth); // prettier-ignore

    test("pasted and dropped pictures are answered, shown again after a reload, large at a click, and stay when the words are edited", async () => {
      const tested = await on.open();
      const { page, answer } = tested;
      await page.locator("#message").waitFor();
      await give(page, "paste", png(40, 30));
      await give(page, "drop", png(20, 10));
      for (const name of ["paste.png", "drop.png"]) await page.getByAltText(name).waitFor();
      expect(await findingsOn(page)).toEqual([]);
      await tested.say("What do you see?");
      await answer.getByText("Seen.").waitFor();
      const picture = { type: "image_url", image_url: { url: expect.stringContaining("data:image/png;base64,") } };
      expect(lastContent()).toEqual([{ type: "text", text: expect.stringContaining("What do you see?") }, picture, picture]);
      await tested.settled();
      expect(await page.locator(".picture-tray").count()).toBe(0);
      await page.reload();
      await waitUntil(
        "the kept pictures are drawn",
        async () => (await width(page, t.picture(1))) === 40 && (await width(page, t.picture(2))) === 20,
      );
      await page.getByRole("button", { name: t.open(t.picture(1)) }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByAltText(t.picture(1)).waitFor();
      expect(await findingsOn(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.getByRole("button", { name: texts.branches.edit }).click();
      await page.getByRole("textbox", { name: texts.branches.edit }).fill("And now?");
      await page.keyboard.press("Enter");
      await page.locator("article.from-user").getByText("2/2").waitFor();
      expect(lastContent()).toEqual([{ type: "text", text: expect.stringContaining("And now?") }, picture, picture]);
    });

    test("on a phone a picture is chosen, another is taken out, one is sent without words, and a file that is none is refused by name", async () => {
      const tested = await on.open({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
      const { page, answer } = tested;
      const input = page.locator("input[type=file]");
      await input.setInputFiles([file("one.png"), file("two.png", png(20, 10)), file("notes.txt", Buffer.from("words"), "text/plain")]);
      await page.getByText(t.refused.type("notes.txt")).waitFor();
      await page.getByRole("button", { name: t.remove("two.png") }).tap();
      await input.setInputFiles(file("large.png", png(8, 8, { padding: 10 * 1024 * 1024 })));
      await page.getByText(t.refused.size("large.png", LIMITS)).waitFor();
      await page.getByText(t.limits(LIMITS)).waitFor();
      await input.setInputFiles(Array.from({ length: 4 }, (_, index) => file(`more-${index}.png`)));
      await page.getByText(t.refused.count("more-3.png", LIMITS)).waitFor();
      for (const index of [0, 1, 2]) await page.getByRole("button", { name: t.remove(`more-${index}.png`) }).tap();
      expect(await page.locator(".picture-tray img").count()).toBe(1);
      expect(await findingsOn(page)).toEqual([]);
      await page.getByRole("button", { name: texts.chat.send, exact: true }).tap();
      await answer.getByText("Seen.").waitFor();
      expect(JSON.stringify(lastContent()).match(/"image_url":/g)).toHaveLength(1);
      expect(await page.evaluate<boolean>("document.documentElement.scrollWidth > innerWidth")).toBe(false);
    });
  },
);
