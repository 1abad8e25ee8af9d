import { z } from "zod";
import { JobsQuery, RetryBody } from "../job-routes.ts";
import { ApiDescription, Health, JobsAnswer, Readiness, RetriedJobs, Status } from "./answers.ts";
import { BODY_ERRORS, jsonAnswer, jsonBody, type Operation } from "./operation.ts";

const tag = "service";

export const SERVICE_OPERATIONS: readonly Operation[] = [
  {
    id: "openPage",
    method: "get",
    path: "/",
    tag,
    summary: "The page to talk and to look inside",
    answers: { 200: { what: "A page for browsers.", content: { "text/html": z.string() } } },
    errors: ["not_found"],
    isOpen: true,
  },
  {
    id: "getPageAsset",
    method: "get",
    path: "/assets/:file",
    tag,
    summary: "What that page is made of",
    params: { file: z.string() },
    answers: {
      200: {
        what: "A script, a style sheet or a text.",
        content: { "text/javascript": z.string(), "text/css": z.string(), "text/plain": z.string() },
      },
    },
    errors: ["not_found"],
    isOpen: true,
  },
  {
    id: "getHealth",
    method: "get",
    path: "/healthz",
    tag,
    summary: "Whether the process is alive",
    answers: { 200: jsonAnswer(Health) },
    isOpen: true,
  },
  {
    id: "getReadiness",
    method: "get",
    path: "/readyz",
    tag,
    summary: "Whether it can answer, and the state of each thing it uses",
    answers: {
      200: jsonAnswer(Readiness, "Ready."),
      503: jsonAnswer(Readiness, "Something that an answer needs is down, or the service is stopping."),
    },
    isOpen: true,
  },
  {
    id: "getMetrics",
    method: "get",
    path: "/metrics",
    tag,
    summary: "Metrics for Prometheus",
    answers: { 200: { what: "Prometheus' text format.", content: { "text/plain": z.string() } } },
  },
  {
    id: "getStatus",
    method: "get",
    path: "/api/v1/status",
    tag,
    summary: "What the service is made of and how it fares: dependencies, layers, the last turns, the jobs",
    answers: { 200: jsonAnswer(Status) },
  },
  {
    id: "listJobs",
    method: "get",
    path: "/api/v1/jobs",
    tag,
    summary: "Background jobs: how many, by kind and state, and those that failed for good",
    query: JobsQuery,
    answers: { 200: jsonAnswer(JobsAnswer) },
  },
  {
    id: "retryJobs",
    method: "post",
    path: "/api/v1/jobs/retry",
    tag,
    summary: "Runs those again that failed for good; with `conversation_id` those of one conversation and of its user's memory agent",
    body: jsonBody(RetryBody),
    bodyIsOptional: true,
    answers: { 200: jsonAnswer(RetriedJobs) },
    errors: [...BODY_ERRORS, "not_found"],
  },
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
