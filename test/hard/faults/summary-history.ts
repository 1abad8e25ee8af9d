import { expect } from "@jest/globals";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { factsIn } from "./fact-model.ts";

const RECORD = `
create table summary_history as
  select *, 0 as saved_as, 0 as uncovered from conversation_summaries;
create sequence summary_saves;
create function record_summary() returns trigger language plpgsql as $$ begin
  insert into summary_history select new.*, nextval('summary_saves'), (
    select count(*) from messages where conversation_id = new.conversation_id and completed
      and (created_at, id) > (new.covered_through_created_at, new.covered_through_message_id));
  return null;
end $$;
create trigger record_summary after insert or update on conversation_summaries for each row execute function record_summary()`;

/** Makes a database keep every version of every summary, with how many completed messages were behind its cover point as it was saved. */
export async function recordSummaries(database: Database): Promise<void> {
  await database.query({ text: RECORD });
}

interface Version {
  summary: string;
  summary_version: number;
  covered_message_count: number;
  covered_through_message_id: string;
  uncovered: number;
}

export interface RecordedMessage {
  id: string;
  content: string;
  completed: boolean;
}

export interface RecordedConversation {
  session_id: string;
  /** Oldest first. */
  messages: RecordedMessage[];
  /** Every version of its summary, in the order in which they were saved. */
  versions: Version[];
}

const READ = `
select session_id,
  (select coalesce(json_agg(json_build_object('id', messages.id, 'content', content, 'completed', completed) order by messages.created_at, messages.id), '[]')
    from messages where conversation_id = conversations.id) as messages,
  (select coalesce(json_agg(history order by saved_as), '[]') from summary_history history where conversation_id = conversations.id) as versions
from conversations order by session_id`;

export function readRecorded(database: Database): Promise<RecordedConversation[]> {
  return database.query<RecordedConversation>({ text: READ });
}

/** Each version is one above the one before, reaches further, and stands for every completed message up to its cover point, each once. */
export function expectEachVersionRight({ messages, versions }: RecordedConversation, historyWindow: number): void {
  expect(versions.map((version) => version.summary_version)).toEqual(versions.map((_version, index) => index + 1));
  let before = 0;
  for (const version of versions) {
    const end = messages.findIndex(({ id }) => id === version.covered_through_message_id) + 1;
    const covered = messages.slice(0, end).filter(({ completed }) => completed);
    expect({ facts: factsIn(version.summary), count: version.covered_message_count }).toEqual({
      facts: covered.flatMap(({ content }) => factsIn(content)),
      count: covered.length,
    });
    expect(version.covered_message_count).toBeGreaterThan(before);
    expect(version.uncovered).toBeGreaterThanOrEqual(historyWindow);
    before = version.covered_message_count;
  }
}
