import type { Database } from "../../../stores/postgres/database/database.ts";

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

export async function recordSummaries(database: Database): Promise<void> {
  await database.query({ text: RECORD });
}

/** The messages of people that a text names, in order. */
export const saidIn = (text: string): string[] => text.match(/Message user-\d+-\d+/g) ?? [];

interface Recorded {
  session_id: string;
  messages: { id: string; content: string; completed: boolean }[];
  /** In the order in which they were saved. */
  versions: {
    summary: string;
    summary_version: number;
    covered_message_count: number;
    covered_through_message_id: string;
    uncovered: number;
  }[];
}

const READ = `
select session_id,
  (select coalesce(json_agg(json_build_object('id', messages.id, 'content', content, 'completed', completed) order by messages.created_at, messages.id), '[]')
    from messages where conversation_id = conversations.id) as messages,
  (select coalesce(json_agg(history order by saved_as), '[]') from summary_history history where conversation_id = conversations.id) as versions
from conversations order by session_id`;

/** Each version must be one above the one before, reach further, and hold every completed message up to its cover point, each once. */
export async function findWrongSummaries(database: Database, historyWindow: number): Promise<{ wrongs: string[]; versions: number }> {
  const recorded = await database.query<Recorded>({ text: READ });
  const wrongs = recorded.flatMap(({ session_id, messages, versions }) =>
    versions.flatMap((version, index) => {
      const end = messages.findIndex(({ id }) => id === version.covered_through_message_id) + 1;
      const covered = messages.slice(0, end).filter(({ completed }) => completed);
      const said = covered.flatMap(({ content }) => saidIn(content));
      const isRight =
        version.summary_version === index + 1 &&
        version.covered_message_count === covered.length &&
        version.covered_message_count > (versions[index - 1]?.covered_message_count ?? 0) &&
        version.uncovered >= historyWindow &&
        saidIn(version.summary).join() === said.join();
      return isRight ? [] : [`a summary of ${session_id} is wrong: ${JSON.stringify({ version, said, count: covered.length })}`];
    }),
  );
  return { wrongs, versions: recorded.reduce((sum, { versions }) => sum + versions.length, 0) };
}
