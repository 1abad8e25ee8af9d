import { z } from "zod";
import type { Column, TableColumns } from "./exported-tables.ts";

export const EXPORT_FORMAT = "conversation-graph export";
export const FORMAT_VERSION = 1;

export const Header = z.object({
  kind: z.literal("header"),
  format: z.literal(EXPORT_FORMAT),
  version: z.int(),
  /** The newest migration. */
  schema: z.int(),
  /** Null for everybody's data. */
  tenant: z.string().nullable(),
  user: z.string().nullable(),
  exported_at: z.iso.datetime(),
});

/** The SHA-256 is of all lines before. */
export const End = z.object({
  kind: z.literal("end"),
  rows: z.record(z.string(), z.int().nonnegative()),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "is no SHA-256"),
});

const text = z
  .string()
  .refine((value) => !value.includes("\0") && value.isWellFormed(), "holds a NUL character or half of a surrogate pair");
const integer = (bits: number) =>
  z
    .int()
    .min(-(2 ** (bits - 1)))
    .max(2 ** (bits - 1) - 1);

/** As row_to_json writes them. */
const OF_TYPE: Readonly<Record<string, z.ZodType>> = {
  uuid: z.guid(),
  text,
  boolean: z.boolean(),
  smallint: integer(16),
  integer: integer(32),
  bigint: z.int(),
  "double precision": z.number(),
  jsonb: z.json().refine((value) => !JSON.stringify(value).includes("\\u0000"), "holds a NUL character"),
  "timestamp with time zone": z
    .string()
    .regex(/^\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$/, "is no time like 2026-11-23T08:15:00+00:00"),
  date: z.iso.date(),
  bytea: z.string().startsWith("\\x", "is no bytes: they begin with \\x and are hexadecimal"),
};

function schemaOf({ name, type, isNullable, hasDefault }: Column): z.ZodType {
  const plain = type.replace(/\(\d+\)/, "");
  const single = OF_TYPE[plain.replace(/\[\]$/, "")];
  if (!single) throw new Error(`no export can hold ${name} of type ${type} yet: say in line-schemas.ts how it stands in JSON`);
  const value = plain.endsWith("[]") ? z.array(single) : single;
  if (isNullable) return value.nullable().optional();
  return hasDefault ? value.optional() : value;
}

/** Nullable columns and those with a default may be missing, as in older exports. */
export function rowSchema({ columns }: TableColumns): z.ZodObject {
  return z.strictObject(Object.fromEntries(columns.map((column) => [column.name, schemaOf(column)])));
}
