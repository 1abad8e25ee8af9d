import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { makeEpisodeStore } from "../../../../stores/postgres/memory/episode-store.ts";
import { toExchanges } from "../../../../stores/postgres/conversations/exchanges.ts";
import { restoreExport } from "../../../../stores/postgres/export/restore-export.ts";
import { makeImportStore } from "../../../../stores/postgres/conversations/import-store.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { openTestEmbedded } from "../../../support/databases/databases.ts";
import { createExportFolder, parseLines, readExport, sealLines, type ExportFolder } from "./export-files.ts";

const LATER_COLUMNS = ["partner_id", "import_number", "is_unread", "imported_count"];

let source: Database;
let target: Database;
let folder: ExportFolder;
beforeAll(async () => {
  [source, target, folder] = await Promise.all([openTestEmbedded(), openTestEmbedded(), createExportFolder()]);
});
afterAll(async () => {
  await Promise.all([source.close(), target.close(), folder.remove()]);
});

test("a restore of a file from before pairs were kept has the exchanges that were indexed then", async () => {
  const owner = { tenantId: "tenant", userId: "ada" };
  const messages = (["assistant", "user", "assistant"] as const).map((role, minute) => {
    return { role, content: `said ${minute}`, createdAt: new Date(Date.UTC(2024, 0, 31, 12, minute)), metadata: {} };
  });
  const { conversationId } = await makeImportStore(source).import({ ...owner, sessionId: "s", messages, jobKinds: [] });
  const lines = parseLines(await readExport(await folder.save(source))).slice(0, -1);
  for (const { row } of lines) for (const column of LATER_COLUMNS) delete row?.[column];
  const file = await folder.write(sealLines(lines));
  await restoreExport({ database: target, file });
  const read = await makeEpisodeStore(target).readBacklog({ ...owner, conversationId }, "index", 100);
  const found = toExchanges(read.messages).map(({ asked, answer }) => [asked?.content, answer?.content]);
  expect(found).toEqual([[undefined, "said 0"], ["said 1", "said 2"]]); // prettier-ignore
});
