/**
 * SQL: how many documents of an owner, or of all ("" as owner), have a word. The word "" counts documents, " " the words in all of them.
 */
export const wordTable = (name: string): string => `search."${name}_words"`;

/**
 * SQL: a document's keys in the index of words. The high cost keeps the planner from calling it for each row instead of using that index.
 */
export const WORD_KEYS = "search.word_keys(owner_key, tsvector_to_array(lexemes))";

export const WORD_FUNCTIONS = `
create or replace function search.word_key(owner text, word text) returns bigint language sql immutable strict parallel safe
  as $$ select hashtextextended((owner || ' ' || word) collate "C", 0) $$;
create or replace function search.word_keys(owner text, words text[]) returns bigint[] language sql immutable strict parallel safe cost 10000
  as $$ select coalesce(array_agg(search.word_key(owner, word)), '{}') from unnest(words) as word $$`;

const numbersOf = (source: string, sign: "" | "-"): string => `
select search.word_key(owner, word) as key, ${sign}number as number from ${source}, unnest(array[owner_key, '']) as owner, lateral (
  select word, 1 as number from unnest(tsvector_to_array(lexemes)) as word union all values ('', 1), (' ', word_count)
) as counted`;

/** Writes in the order of the keys, so that two writers of an owner wait without a deadlock. */
const countSql = (name: string, numbers: readonly string[]): string => `
insert into ${wordTable(name)} as kept (key, documents)
select key, sum(number) from (${numbers.join(" union all ")}) as numbers group by key having sum(number) <> 0 order by key
on conflict (key) do update set documents = kept.documents + excluded.documents;`;

const forgetSql = (name: string): string => `
delete from ${wordTable(name)} where documents <= 0 and key in (select key from (${numbersOf("removed", "-")}) as numbers);`;

/** Triggers count, so that every writer keeps the numbers right, the version before too. */
const WRITES = {
  insert: "new table as added",
  update: "old table as removed new table as added",
  delete: "old table as removed",
} as const;

/** SQL: creates an index's table of words, its index and triggers, and counts existing documents. */
export function wordTableCreation(name: string): string {
  const counting = `search."${name}_count"`;
  const triggers = Object.entries(WRITES).map(
    ([event, tables]) => `
create trigger count_${event} after ${event} on search."${name}" referencing ${tables} for each statement execute function ${counting}();`,
  );
  return `
create table ${wordTable(name)} (key bigint primary key, documents bigint not null) with (fillfactor = 80);
create index "${name}_by_word" on search."${name}" using gin ((${WORD_KEYS})) with (fastupdate = off);
create function ${counting}() returns trigger language plpgsql as $count$
begin
  if tg_op = 'INSERT' then ${countSql(name, [numbersOf("added", "")])}
  elsif tg_op = 'DELETE' then ${countSql(name, [numbersOf("removed", "-")])} ${forgetSql(name)}
  else ${countSql(name, [numbersOf("added", ""), numbersOf("removed", "-")])} ${forgetSql(name)}
  end if;
  return null;
end $count$;
${triggers.join("")}
${countSql(name, [numbersOf(`search."${name}"`, "")])}`;
}

export function wordTableDrop(name: string): string {
  return `drop table if exists ${wordTable(name)}; drop function if exists search."${name}_count"()`;
}
