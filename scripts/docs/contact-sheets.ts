import type { Browser, Page } from "playwright-core";
import { en } from "../../web/texts/en.ts";
import { enViews } from "../../web/texts/views/en-views.ts";
import { zhViews } from "../../web/texts/views/zh-views.ts";
import { zh } from "../../web/texts/zh.ts";
import { type Talked, USER } from "./pictured-service.ts";

const SIZES = {
  desk: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
} as const;
const LANGUAGES = { "en-GB": { ...en, ...enViews }, "zh-CN": { ...zh, ...zhViews } } as const;
const THEMES = ["light", "dark"] as const;
/** Of a picture in a sheet. */
const SCALE = 0.5;
const QUALITY = 65;
/** Milliseconds until a view has what it shows. */
const SETTLED_MS = 1_200;

interface View {
  at: string;
  /** Somebody of whom nothing is known. */
  isNew?: boolean;
  open?: (page: Page, texts: typeof en & typeof enViews) => Promise<void>;
}

const views = ({ conversation, asking }: Talked): Record<string, View> => ({
  "first-visit": { at: "/#/chat", isNew: true },
  conversation: { at: `/#/chat/${conversation}` },
  details: { at: `/#/chat/${conversation}`, open: (page) => page.keyboard.press("Alt+i") },
  question: { at: `/#/chat/${asking}` },
  branches: { at: `/#/chat/${conversation}`, open: (page, { branches }) => page.getByRole("button", { name: branches.title }).click() },
  options: { at: `/#/chat/${conversation}`, open: (page, { chat }) => page.getByText(chat.options, { exact: true }).click() },
  settings: { at: `/#/chat/${conversation}`, open: (page) => page.locator("#content").press("?") },
  "core-memory": { at: "/#/memory/core" },
  episodes: { at: "/#/memory/episodes" },
  changes: { at: "/#/memory/changes" },
  permissions: { at: "/#/memory/permissions" },
  jobs: { at: "/#/memory/jobs" },
  erase: { at: "/#/memory/erase" },
  documents: { at: "/#/documents/trains" },
  agents: { at: "/#/agents/agents", open: (page, { agents }) => page.getByRole("button", { name: agents.edit }).first().click() },
  skills: { at: "/#/agents/skills", open: (page, { agents }) => page.getByRole("button", { name: agents.fresh.skills }).click() },
  servers: { at: "/#/agents/servers", open: (page, { agents }) => page.getByRole("button", { name: agents.fresh.servers }).click() },
  service: { at: "/#/service" },
});

type Taken = Record<keyof typeof SIZES, string>;

async function take(
  browser: Browser,
  url: string,
  view: View,
  size: keyof typeof SIZES,
  locale: keyof typeof LANGUAGES,
  theme: "light" | "dark",
) {
  const page = await browser.newPage({ ...SIZES[size], locale, colorScheme: theme });
  try {
    await page.addInitScript(`localStorage.setItem("conversation-graph.user", ${JSON.stringify(view.isNew ? "new" : USER)})`);
    await page.goto(url + view.at);
    await page.waitForTimeout(SETTLED_MS);
    if (view.open) {
      await view.open(page, LANGUAGES[locale]);
      await page.waitForTimeout(SETTLED_MS);
    }
    return (await page.screenshot({ type: "png" })).toString("base64");
  } finally {
    await page.close();
  }
}

const picture = (size: keyof typeof SIZES, base64: string): string =>
  `<img width="${SIZES[size].viewport.width * SCALE}" src="data:image/png;base64,${base64}">`;

/** One picture of each view, of which each is taken in both languages and themes, on a desk and on a phone: `TO/sheets/VIEW.jpg`. */
export async function takeSheets(browser: Browser, url: string, talked: Talked, to: string): Promise<void> {
  for (const [name, view] of Object.entries(views(talked))) {
    const rows: string[] = [];
    for (const locale of Object.keys(LANGUAGES) as (keyof typeof LANGUAGES)[]) {
      const taken: Taken[] = [];
      for (const theme of THEMES) {
        const [desk, phone] = await Promise.all([
          take(browser, url, view, "desk", locale, theme),
          take(browser, url, view, "phone", locale, theme),
        ]);
        taken.push({ desk, phone });
      }
      rows.push(
        `<div>${taken.map((one) => picture("desk", one.desk)).join("")}${taken.map((one) => picture("phone", one.phone)).join("")}</div>`,
      );
    }
    const sheet = await browser.newPage({ viewport: { width: 1_740, height: 900 } });
    const style =
      "body{margin:8px;background:#888;width:max-content}div{display:flex;gap:8px;align-items:start}div+div{margin-top:8px}img{display:block}";
    await sheet.setContent(`<style>${style}</style>${rows.join("")}`);
    await sheet.locator("body").screenshot({ type: "jpeg", quality: QUALITY, path: `${to}/sheets/${name}.jpg` });
    await sheet.close();
  }
}
