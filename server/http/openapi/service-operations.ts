import { z } from "zod";
import { ApiDescription } from "./answers.ts";
import { jsonAnswer, type Operation } from "./operation.ts";

const tag = "service";

export const SERVICE_OPERATIONS: readonly Operation[] = [
  {
    id: "getApiDescription",
    method: "get",
    path: "/openapi.json",
    tag,
    summary: "This description",
    answers: { 200: jsonAnswer(ApiDescription) },
  },
  {
    id: "readApiDescription",
    method: "get",
    path: "/docs",
    tag,
    summary: "A page to read it",
    answers: { 200: { what: "A page for browsers.", content: { "text/html": z.string() } } },
    errors: ["not_found"],
  },
  {
    id: "getDocsAsset",
    method: "get",
    path: "/docs/:file",
    tag,
    summary: "What the page is made of",
    params: { file: z.string() },
    answers: { 200: { what: "A script or a style sheet.", content: { "text/javascript": z.string(), "text/css": z.string() } } },
    errors: ["not_found"],
  },
];
