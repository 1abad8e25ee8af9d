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
const SCALE = 0.5;
const QUALITY = 65;
const SETTLED_MS = 1_200;

interface View {
  at: string;
  /** Null: the page asks who is talking. */
  user?: null;
  open?: (page: Page, texts: typeof en & typeof enViews) => Promise<void>;
}

/** URLs of services: a used one, one without a model, and one that wants a key. */
export interface Pictured {
  url: string;
  emptyUrl: string;
  guardedUrl: string;
  talked: Talked;
}

/** On a phone the list of conversations is behind a button. */
async function showList(page: Page, title: string): Promise<void> {
  const button = page.getByRole("button", { name: title });
  if (await button.isVisible()) await button.click();
}

const viewsOf = (talked: Talked, inTalk = `/#/chat/${talked.conversation}`): Record<string, View> => ({
  user: { at: "/#/chat", user: null },
  conversation: { at: inTalk },
  citation: { at: inTalk, open: (page) => page.locator("button.cite").last().click() },
  details: { at: inTalk, open: (page) => page.keyboard.press("Alt+i") },
  compare: {
    at: inTalk,
    open: async (page, { inspector }) => {
      await page.keyboard.press("Alt+i");
      await page.getByRole("combobox", { name: inspector.compareWith }).selectOption({ index: 1 });
      await page.locator("table.compared").scrollIntoViewIfNeeded();
    },
  },
  import: {
    at: inTalk,
    open: async (page, { conversations }) => {
      await showList(page, conversations.title);
      await page.getByRole("button", { name: conversations.import }).click();
    },
  },
  question: { at: `/#/chat/${talked.asking}` },
  tools: { at: `/#/chat/${talked.calculated}`, open: (page) => page.locator("details.act summary").first().click() },
  branches: {
    at: inTalk,
    open: (page, { branches }) => page.getByRole("button", { name: branches.title }).click(),
  },
  options: { at: inTalk, open: (page, { chat }) => page.getByText(chat.options, { exact: true }).click() },
  settings: {
    at: inTalk,
    open: (page, { settings }) => page.getByRole("button", { name: settings.open }).click(),
  },
  "core-memory": { at: "/#/memory/core" },
  episodes: {
    at: "/#/memory/episodes",
    open: async (page, { memory }) => {
      await page.getByLabel(memory.episodes.label).fill("film");
      await page.keyboard.press("Enter");
    },
  },
  changes: { at: "/#/memory/changes" },
  permissions: { at: "/#/memory/permissions" },
  jobs: { at: "/#/memory/jobs" },
  erase: { at: "/#/memory/erase" },
  documents: {
    at: "/#/documents/trains",
    open: async (page, { documents }) => {
      await page.getByLabel(documents.question).fill("May I take a bicycle?");
      await page.keyboard.press("Enter");
    },
  },
  agents: { at: "/#/agents/agents", open: (page, { agents }) => page.getByRole("button", { name: agents.edit }).first().click() },
  try: {
    at: "/#/agents/agents",
    open: async (page, { agents, chat }) => {
      await page.getByRole("button", { name: agents.try }).first().click();
      await page.getByLabel(agents.tryPlaceholder).fill("What do four tickets at 5.40 € cost?");
      await page.getByRole("dialog").getByRole("button", { name: chat.send }).click();
    },
  },
  skills: { at: "/#/agents/skills", open: (page, { agents }) => page.getByRole("button", { name: agents.fresh.skills }).click() },
  servers: { at: "/#/agents/servers", open: (page, { agents }) => page.getByRole("button", { name: agents.fresh.servers }).click() },
  service: { at: "/#/service" },
});

type Taken = Record<keyof typeof SIZES, string>;

/** Waits until nothing moves or loads; what is behind a dialog may load until there is a key. */
async function settle(page: Page, { loading }: { loading: string }): Promise<void> {
  await page.waitForTimeout(SETTLED_MS);
  const dialog = page.locator("dialog[open]").last();
  const shown = (await dialog.isVisible()) ? dialog : page;
  for (const note of await shown.getByText(loading, { exact: true }).all()) await note.waitFor({ state: "hidden" });
}

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
    if (view.user !== null) await page.addInitScript(`localStorage.setItem("conversation-graph.user", ${JSON.stringify(USER)})`);
    await page.goto(new URL(view.at, url).href);
    await settle(page, LANGUAGES[locale]);
    if (view.open) {
      await view.open(page, LANGUAGES[locale]);
      await settle(page, LANGUAGES[locale]);
    }
    return (await page.screenshot({ type: "png" })).toString("base64");
  } finally {
    await page.close();
  }
}

const picture = (size: keyof typeof SIZES, base64: string): string =>
  `<img width="${SIZES[size].viewport.width * SCALE}" src="data:image/png;base64,${base64}">`;

/** A picture of each view in both languages and themes, on a desk and on a phone: `TO/sheets/VIEW.jpg`. */
export async function takeSheets(browser: Browser, { url, emptyUrl, guardedUrl, talked }: Pictured, to: string): Promise<void> {
  const views = { ...viewsOf(talked), "first-visit": { at: `${emptyUrl}/#/chat` }, key: { at: `${guardedUrl}/#/chat` } };
  for (const [name, view] of Object.entries<View>(views)) {
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
