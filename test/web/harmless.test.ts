import { expect, test } from "@jest/globals";
import { describePage, startModelService, texts, type TestedPage } from "./tested-page.ts";

/** Everything that would run, fetch or restyle something if any of it became more than text. */
const HOSTILE = [
  "<script>window.ran = 'script'</script>",
  "<img src=x onerror=\"window.ran = 'image'\">",
  "<svg onload=\"window.ran = 'svg'\"><a href=\"javascript:window.ran='svg link'\">svg</a></svg>",
  '<iframe src="https://evil.example/frame"></iframe><link rel="stylesheet" href="https://evil.example/style.css">',
  '<style>* { display: none }</style><p style="background: url(https://evil.example/p)">styled</p>',
  "[a link](javascript:window.ran='link') and [another](JaVaScRiPt:window.ran='case') and [data](data:text/html,<script>window.ran=1</script>)",
  "![a picture](https://evil.example/picture.png) and ![one more](javascript:window.ran='picture')",
  '[a title](https://good.example/ "x\\" onmouseover=\\"window.ran=1")',
  '<https://good.example/?q="onclick=window.ran=1>',
  '`<b>code</b>` and [constructor] and [__proto__] and <math><mi//xlink:href="data:x,<script>window.ran=1</script>">',
  "<form action=https://evil.example/><button>send</button></form><base href=https://evil.example/><meta http-equiv=refresh content='0;url=https://evil.example/'>",
  "```html\n<script>window.ran = 'fence'</script>\n```",
].join("\n\n");

const pieces = (text: string, length: number): string[] => text.match(new RegExp(`[^]{1,${length}}`, "g")) ?? [];
const shapeOf = ({ answer }: TestedPage): Promise<string> => answer.locator(".markdown").innerHTML();

const startService = () => startModelService({ MAX_MESSAGE_CHARS: "200000" });

describePage("on the page with hostile and huge texts,", startService, (on) => {
  test.each([
    ["in a few pieces", 5_000],
    ["character by character", 3],
  ])("HTML, scripts, frames, pictures and addresses that run stay text, streamed %s, in question and answer", async (_how, length) => {
    on.model.answer({ tokens: pieces(HOSTILE, length) });
    const tested = await on.open();
    await tested.say(HOSTILE);
    await tested.settled();
    const { page, answer } = tested;
    await answer.getByText("window.ran = 'fence'").waitFor();
    expect(await answer.innerText()).toContain("<script>window.ran = 'script'</script>");
    const tags = "script img svg iframe style form link base math [style] [onerror] [onmouseover]".split(" ");
    for (const tag of tags)
      expect([tag, await page.locator(`.message .markdown ${tag}, .message .as-written ${tag}`).count()]).toEqual([tag, 0]);
    const attributes = async (name: string) => Promise.all((await page.locator(".message a").all()).map((link) => link.getAttribute(name)));
    const links = await attributes("href");
    expect(links.filter((href) => !href?.startsWith("https://"))).toEqual([]);
    expect(links).toContain("https://evil.example/picture.png"); // a link that somebody may follow, not a picture that is fetched
    expect(new Set(await attributes("rel"))).toEqual(new Set(["noopener noreferrer nofollow"]));
    await page.reload();
    await tested.follow(/<script>/);
    await answer.getByText("window.ran = 'script'").waitFor();
    expect(await page.evaluate<string>("String(window.ran)")).toBe("undefined");
  });

  test("a streamed answer becomes the same elements as a loaded one", async () => {
    const markdown =
      "# Title\n\nA *paragraph* with `code`.\n\n1. one\n\n2. two\n   - inner\n\n   more of two\n\n3. three\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\n  let a = 1;\n\nlet b = 2;\n```\n\n> quoted\n> text\n\n&copy; &lt;b&gt; A&B &amp;amp; <b>x</b> \\* ![p](p.png)\n\nSet\next\n---\n\n- [x] done\n- [ ] open\n\nEnd.";
    on.model.answer({ tokens: pieces(markdown, 2), betweenMs: 2 });
    const tested = await on.open();
    await tested.say("Markdown, please");
    await tested.settled();
    await tested.answer.getByText("End.").waitFor();
    await tested.answer.locator(".hljs-keyword").nth(1).waitFor();
    const streamed = await shapeOf(tested);
    await tested.page.reload();
    await tested.follow(/Markdown, please/);
    await tested.answer.getByText("End.").waitFor();
    await tested.answer.locator(".hljs-keyword").nth(1).waitFor();
    expect(await shapeOf(tested)).toBe(streamed);
    expect(await tested.answer.locator("pre").textContent()).toBe("  let a = 1;\n\nlet b = 2;\n");
    expect(streamed).toContain("<h1");
    expect(streamed).toContain("<table");
    await tested.answer.getByText("© <b> A&B &amp; <b>x</b> * p", { exact: true }).waitFor();
  });

  test.each([
    ["list", "ul > li", (index: number) => `- item **${index}** of many\n`, ""],
    ["numbered list with lists in it", "ol > li", (index: number) => `${index + 1}. item ${index}\n   - [x] inner \`${index}\`\n`, ""],
    ["table", "tbody > tr", (index: number) => `| ${index} | *cell* \\| ${index} |\n`, "| a | b |\n|---|:-:|\n"],
    ["code block", "pre > code", (index: number) => `let a${index} = "<b>" && ${index};\n${index % 9 ? "" : "\n"}`, "```js\n"],
  ])("a long %s grows without being made anew, and becomes what it is when it is loaded", async (_kind, part, line, head) => {
    const text = head + Array.from({ length: 150 }, (_, index) => line(index)).join("");
    on.model.answer({ tokens: pieces(text, 7), betweenMs: 3 });
    const tested = await on.open();
    const { page, answer } = tested;
    await tested.say("Go on and on");
    await answer
      .getByText(/\ba?3\b/)
      .first()
      .waitFor();
    const early = await answer.locator(part).first().elementHandle();
    await tested.settled();
    const ended = async () => {
      await answer.getByText(/149/).first().waitFor();
      // A code block gets its colours after it ends: 150 lines are 150 keywords.
      if (part === "pre > code") await answer.locator(".hljs-keyword").nth(149).waitFor();
    };
    await ended();
    expect(await early?.evaluate((element) => (element as unknown as { isConnected: boolean }).isConnected)).toBe(true);
    const streamed = await shapeOf(tested);
    await page.reload();
    await tested.follow(/Go on and on/);
    await ended();
    expect(await shapeOf(tested)).toBe(streamed);
  });

  test("huge and deeply nested Markdown leaves the page usable", async () => {
    const huge = `${">".repeat(3_000)} deep\n\n${"[".repeat(5_000)}\n\n${"word ".repeat(30_000)}\n\n${"- item\n".repeat(3_000)}\n\nThe end of it.`;
    on.model.answer({ tokens: pieces(huge, 4_000) });
    const tested = await on.open();
    await tested.say(`Please: ${"long ".repeat(20_000)}`);
    await tested.settled();
    await tested.answer.getByText("The end of it.").waitFor();
    expect((await tested.page.locator("article.from-user").innerText()).length).toBeLessThan(3_000);
    await tested.page.getByRole("button", { name: new RegExp(`^${texts.more}`) }).click();
    expect((await tested.page.locator("article.from-user").innerText()).length).toBeGreaterThan(90_000);
    on.model.answer({ tokens: ["still here"] });
    await tested.say("And now?");
    await tested.answer.getByText("still here").waitFor();
    const overflow = await tested.page.evaluate<boolean>("document.documentElement.scrollWidth > document.documentElement.clientWidth");
    expect(overflow).toBe(false);
  });

  test("text from right to left is set so, beside text from left to right", async () => {
    on.model.answer({ tokens: ["שלום עולם\n\nHello world\n\n```\ncode = 1\n```"] });
    const tested = await on.open();
    await tested.say("مرحبا بالعالم");
    await tested.settled();
    const directionOf = (index: number): Promise<string> =>
      tested.page.evaluate<string>(`getComputedStyle(document.querySelectorAll(".from-assistant .block > *")[${index}]).direction`);
    expect([await directionOf(0), await directionOf(1), await directionOf(2)]).toEqual(["rtl", "ltr", "ltr"]);
    const asked = await tested.page.evaluate<string>('getComputedStyle(document.querySelector(".from-user .as-written")).direction');
    expect(asked).toBe("rtl");
  });
});
