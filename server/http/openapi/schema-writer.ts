import { z } from "zod";

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Turns zod schemas into the JSON Schema of the description. */
export interface SchemaWriter {
  /** The named ones, by name. */
  components: Record<string, JsonSchema>;
  /** A reference to a named schema, or the schema itself; an object or union without a name is refused with an error. */
  write(schema: z.ZodType): JsonSchema;
  /** The properties of an object, and whether each is required. */
  writeProperties(object: z.ZodObject): { name: string; required: boolean; schema: JsonSchema }[];
}

/** Without what only a schema in a file of its own needs. */
function inline(json: JsonSchema): JsonSchema {
  delete json.$schema;
  delete json.$id;
  return json;
}

const reference = (name: string): string => `#/components/schemas/${name}`;

/** Says what zod leaves out of the input side of a transform, and nothing twice. */
function complete(schema: z.core.$ZodTypes, json: JsonSchema): void {
  const { def } = schema._zod;
  if (def.type === "default") json.default = def.defaultValue;
  if (json.type === "integer" || json.format !== undefined) delete json.pattern; // a number in a query string; a date or UUID spelt out
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
}

/** `limits` adds what is configured to single schemas, like the longest message. */
export function makeSchemaWriter(
  named: Readonly<Record<string, z.ZodType>>,
  limits: ReadonlyMap<z.core.$ZodType, JsonSchema>,
): SchemaWriter {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const options = {
    io: "input" as const, // for answers too: fields that are added one day must not break a client
    uri: reference,
    override({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: JsonSchema }) {
      complete(zodSchema, jsonSchema);
      Object.assign(jsonSchema, limits.get(zodSchema));
    },
  };
  const { schemas } = z.toJSONSchema(registry, options);
  return {
    components: Object.fromEntries(Object.entries(schemas).map(([name, json]) => [name, inline(json)])),
    write(schema) {
      const id = registry.get(schema)?.id;
      if (id !== undefined) return { $ref: reference(id) };
      const json = inline(z.toJSONSchema(schema, options));
      if (json.type === "object" || json.oneOf || json.anyOf) throw new Error("a body in the description of the API has no name");
      return json;
    },
    writeProperties(object) {
      const { properties = {}, required = [] } = z.toJSONSchema(object, options);
      return Object.entries(properties).map(([name, schema]) => {
        return { name, required: required.includes(name), schema: schema as JsonSchema };
      });
    },
  };
}
