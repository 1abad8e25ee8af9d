import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import {
  EXPORTED_TABLES,
  NOT_EXPORTED,
  readColumns,
  rowSchema,
  SCHEMAS_NOT_EXPORTED,
} from "../../../../stores/postgres/export/exported-tables.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";

const COLUMNS = `
select table_schema as schema, table_name as "table", column_name as name, column_default as "default", is_generated = 'ALWAYS' as "isGenerated"
from information_schema.tables join information_schema.columns using (table_catalog, table_schema, table_name)
where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`;

interface CatalogueColumn {
  schema: string;
  table: string;
  name: string;
  default: string | null;
  isGenerated: boolean;
}

describeOnBothDatabases("an export", (open) => {
  let database: Database;
  let catalogue: CatalogueColumn[];
  beforeAll(async () => {
    database = await open();
    catalogue = await database.query<CatalogueColumn>({ text: COLUMNS });
  });
  afterAll(() => database.close());

  test("holds every table there is, or exported-tables.ts says why not", () => {
    const names = catalogue.filter(({ schema }) => !(schema in SCHEMAS_NOT_EXPORTED)).map(({ schema, table }) => `${schema}.${table}`);
    const decided = [...EXPORTED_TABLES.map(({ name }) => name), ...Object.keys(NOT_EXPORTED)].map((name) => `public.${name}`);
    expect([...new Set(names)].toSorted()).toEqual(decided.toSorted());
  });

  test("holds every column of its tables, or exported-tables.ts says why not", async () => {
    for (const { table, columns } of await readColumns(database)) {
      const there = catalogue.filter((column) => column.table === table.name && !column.isGenerated).map(({ name }) => name);
      const decided = [...columns.map(({ name }) => name), ...Object.keys(table.omitted ?? {})];
      expect({ table: table.name, columns: decided.toSorted() }).toEqual({ table: table.name, columns: there.toSorted() });
    }
  });

  test("can say of every row what it must look like, and orders it by a primary key", async () => {
    for (const table of await readColumns(database)) {
      expect(() => rowSchema(table)).not.toThrow();
      expect({ table: table.table.name, key: table.columns.some(({ keyPosition }) => keyPosition !== null) }).toMatchObject({ key: true });
    }
  });

  test("has no column that is counted up by a sequence, which a restore would not move on", () => {
    const exported = new Set(EXPORTED_TABLES.map(({ name }) => name));
    expect(catalogue.filter((column) => exported.has(column.table) && column.default?.includes("nextval"))).toEqual([]);
  });
});
