import { writeFileSync } from "node:fs";
import openapiTS, { astToString, COMMENT_HEADER } from "openapi-typescript";
import { buildDescription } from "../server/openapi/build-description.ts";

// The page's types, from the description of the API: a shape that crosses HTTP is written once.
const { openapi, info, components } = buildDescription({ maxMessageChars: 1, sections: [] });
const schemas = { openapi, info, paths: {}, components: { schemas: components.schemas } };
const types = await openapiTS(JSON.stringify(schemas), { rootTypes: true, rootTypesNoSchemaPrefix: true, defaultNonNullable: false });
writeFileSync("web/api/described.ts", COMMENT_HEADER + astToString(types));
