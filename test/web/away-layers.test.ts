import { expect, test } from "@jest/globals";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { describePage, sayAndSettle, startOfflineService, texts } from "./tested-page.ts";

const startService = () => startOfflineService({ MEMORY_READ_TIMEOUT_MS: "500" });

describePage("the page, while layers of memory are away,", startService, (on) => {
  const t = texts.inspector;

  /** Runs while nobody can read core memory or the index. */
  async function whileAway(run: () => Promise<void>): Promise<void> {
    const database = await openPostgres(on.databaseUrl);
    try {
      const text = "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'search'";
      const index = (await database.query<{ name: string }>({ text })).map(({ name }) => name);
      await database.transaction(async (transaction) => {
        await transaction.query({ text: `lock table ${["core_memory_sections", ...index].join(", ")} in access exclusive mode` });
        await run();
      });
    } finally {
      await database.close();
    }
  }

  test("says in an answer's details that the layers were unavailable, and not that there is nothing", async () => {
    await sayAndSettle(on.url, on.user, "I live in Lisbon. The key of the cabin is under the blue flower pot.", "old");
    const tested = await on.open();
    await whileAway(async () => {
      await tested.say("Where is the key of the cabin?");
      await tested.settled();
    });
    await tested.press(texts.chat.inspect, tested.answer);
    const part = (title: string) => tested.page.locator(".inspector section", { has: tested.page.getByRole("heading", { name: title }) });
    for (const [title, nothing] of [
      [t.sections, t.noSections],
      [t.episodes, t.noEpisodes],
    ] as const) {
      await part(title).getByText(t.unavailable).waitFor();
      expect(await part(title).getByText(nothing).count()).toBe(0);
    }
  });

  test("does not call a search of episodes empty", async () => {
    await sayAndSettle(on.url, on.user, "The key of the cabin is under the blue flower pot.");
    const tested = await on.open({ at: "/#/memory/episodes" });
    await whileAway(async () => {
      await tested.page.getByRole("searchbox", { name: texts.memory.episodes.label }).fill("Where is the key?");
      await tested.press(texts.memory.episodes.go);
      await tested.page.getByText(texts.memory.episodes.degraded).waitFor();
    });
    expect(await tested.page.getByText(texts.memory.episodes.none).count()).toBe(0);
  });
});
