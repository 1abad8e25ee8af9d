import { findLeftovers } from "../../../memory/erase/find-leftovers.ts";
import { ownerKey } from "../../../stores/search/owner-key.ts";
import { findWrongs } from "../../../test/hard/chaos/chaos-checks.ts";
import type { SoakStage } from "./stage.ts";
import type { SoakDeeds } from "./users.ts";

const TENANT = "default";

/** Completed exchanges, and what the memory agent archived: each is one episode. */
const EPISODES_DUE = `
select user_id, (count(*) + (select count(*) from archived_memories join conversations archive on archive.id = conversation_id where archive.user_id = conversations.user_id))::int as due
from messages join conversations on conversations.id = conversation_id where role = 'assistant' and completed group by user_id`;
const NOT_INDEXED = "select title, status, error from knowledge_documents where status <> 'indexed'";

/** What clients were told and what is stored, in every store, when all jobs are done; everything that differs, in words. */
export async function findSoakWrongs({ database, store, episodes }: SoakStage, deeds: SoakDeeds): Promise<string[]> {
  const wrongs = [...deeds.wrongs, ...(await findWrongs(database, deeds.exchanges))];
  const due = await database.query<{ user_id: string; due: number }>({ text: EPISODES_DUE });
  for (const user of due) {
    const count = await episodes.count(ownerKey(TENANT, user.user_id));
    if (count !== user.due) wrongs.push(`${user.user_id} has ${user.due} completed turns and ${count} episodes`);
  }
  const [all, allDue] = [await episodes.count(), due.reduce((sum, user) => sum + user.due, 0)];
  if (all !== allDue) wrongs.push(`there are ${all} episodes of ${allDue} completed turns`);
  for (const userId of deeds.erased) {
    const left = await findLeftovers(database, store, { tenantId: TENANT, userId });
    if (left.length > 0) wrongs.push(`of ${userId}, who was erased, there is ${JSON.stringify(left)}`);
  }
  for (const document of await database.query<object>({ text: NOT_INDEXED }))
    wrongs.push(`a document is not indexed: ${JSON.stringify(document)}`);
  return wrongs;
}
