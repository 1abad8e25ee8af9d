import { z } from "zod";

export type JsonSchema = z.core.JSONSchema.BaseSchema;

function inline(json: JsonSchema): JsonSchema {
  delete json.$schema;
  delete json.$id;
  return json;
}

const reference = (name: string): string => `#/components/schemas/${name}`;

/** Adds what zod leaves out of the input side of a transform. */
function complete(schema: z.core.$ZodTypes, json: JsonSchema): void {
  const { def } = schema._zod;
  if (def.type === "default") json.default = def.defaultValue;
  if (json.type === "integer" || json.format !== undefined) delete json.pattern; // it matches the text in a query string
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
}

export type SchemaWriter = ReturnType<typeof makeSchemaWriter>;

/** `limits` are the configured ones, like the longest message. */
export function makeSchemaWriter(named: Readonly<Record<string, z.ZodType>>, limits: ReadonlyMap<z.core.$ZodType, JsonSchema>) {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const options = {
    io: "input" as const, // for answers, too: a new field must not break a client
    uri: reference,
    override({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: JsonSchema }) {
      complete(zodSchema, jsonSchema);
      Object.assign(jsonSchema, limits.get(zodSchema));
    },
  };
  const { schemas } = z.toJSONSchema(registry, options);
  return {
    /** By name. */
    components: Object.fromEntries(Object.entries(schemas).map(([name, json]) => [name, inline(json)])),
    /** A reference to a named schema, or the schema itself. Throws for an object or union without a name. */
    write(schema: z.ZodType): JsonSchema {
      const id = registry.get(schema)?.id;
      if (id !== undefined) return { $ref: reference(id) };
      const json = inline(z.toJSONSchema(schema, options));
      if (json.type === "object" || json.oneOf || json.anyOf) throw new Error("a body in the description of the API has no name");
      return json;
    },
    writeProperties(object: z.ZodObject): { name: string; required: boolean; schema: JsonSchema }[] {
      const { properties = {}, required = [] } = z.toJSONSchema(object, options);
      return Object.entries(properties).map(([name, schema]) => {
        return { name, required: required.includes(name), schema: schema as JsonSchema };
      });
    },
  };
}
