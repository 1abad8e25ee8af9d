import type { IndexDefinition } from "./search-index.ts";

/** Names become part of SQL and of filters, and Postgres cuts identifiers at 63 bytes: the longest made of one is 16 longer. */
const NAME = /^[a-z][a-z0-9_]{0,46}$/;
/** Fields of an index in one store or the other, and what statements over it call what they work out. */
const OWN_FIELDS = new Set([
  "id",
  "owner_key",
  "group_id",
  "previous_id",
  "created_at",
  "lexical_text",
  "lexical_vector",
  "lexemes",
  "word_count",
  "embedding",
  "score",
  "distance",
  "words",
  "weights",
  "matching",
]);

/** The same name, when it can be an index or an attribute. Throws TypeError otherwise. */
export function checkName(name: string): string {
  if (NAME.test(name)) return name;
  throw new TypeError(`"${name.slice(0, 80)}" is no name of an index or attribute: small letters, digits and underscores, at most 47.`);
}

/** The same definition, when every store can make an index of it. Throws TypeError otherwise. */
export function checkDefinition(definition: IndexDefinition): IndexDefinition {
  checkName(definition.name);
  for (const attribute of Object.keys(definition.attributes).map(checkName)) {
    if (OWN_FIELDS.has(attribute)) throw new TypeError(`The attribute "${attribute}" has the name of a field that every index has.`);
  }
  if (!Number.isInteger(definition.dimensions) || definition.dimensions < 1) {
    throw new TypeError(`An index cannot have ${definition.dimensions} dimensions.`);
  }
  return definition;
}
