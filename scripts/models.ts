import { AMENDMENTS } from "../models/wire/amendments.ts";
import type { TestedModel } from "../server/models/probe-model.ts";
import { callService, findService, type RunningService } from "./call-service.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run models [-- --url URL] [--key KEY]    lists the models of the running service, with what their servers have taught
npm run models -- test [NAME]               tries what a model can: a text, a thought, a call, a form, a picture, an embedding
Without a name, the model that answers is tried. What was learnt of it is forgotten first, and learnt anew.
The service of this folder is asked, with its strongest key; one at --url, with --key.
Exit status of the test: 0 it answers, 1 it does not`;

const options = { url: { type: "string" }, key: { type: "string" } } as const;

type Lesson = TestedModel["learned"][number];

interface ShownModel {
  name: string;
  uses: string[];
  choosable: boolean;
  context_window: number;
  sources: { context_window: string };
  learned: Lesson[];
}
interface ShownModels {
  models: ShownModel[];
  embedding: { model: string; learned: Lesson[] } | null;
}

function meaningOf(what: string): string {
  if (Object.hasOwn(AMENDMENTS, what)) return AMENDMENTS[what as keyof typeof AMENDMENTS];
  const [, batch] = /^batch_of_(\d+)$/.exec(what) ?? [];
  return batch === undefined ? what : `at most ${batch} texts are embedded at once`;
}

const showLesson = ({ what, words, at }: Lesson): string =>
  `  learnt ${at.slice(0, 10)}: ${meaningOf(what)}${words === "" ? "" : `. "${words}"`}`;

async function list(service: RunningService): Promise<void> {
  const { models, embedding } = (await (await callService(service, "/api/v1/models")).json()) as ShownModels;
  for (const { name, uses, choosable, context_window: context, sources, learned } of models) {
    const used = [...uses, ...(choosable ? ["may be chosen"] : [])].join(", ");
    console.log(`${name}: ${used}; a context of ${context} tokens (${sources.context_window})`);
    for (const lesson of learned) console.log(showLesson(lesson));
  }
  console.log(`${embedding?.model ?? "built-in"}: embeddings`);
  for (const lesson of embedding?.learned ?? []) console.log(showLesson(lesson));
}

const showOutcome = (ok: boolean | null): string => (ok === null ? "–" : ok ? "yes" : "no");

async function test(service: RunningService, model: string | undefined): Promise<void> {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify({ model }) };
  const tested = (await (await callService(service, "/api/v1/models/test", init)).json()) as TestedModel;
  console.log(tested.model);
  for (const { what, ok, ms, note } of tested.results) {
    const cells = [what.padEnd(9), showOutcome(ok).padEnd(3), (ms === null ? "" : `${ms} ms`).padStart(9), note ?? ""];
    console.log(`  ${cells.join("  ").trimEnd()}`);
  }
  for (const lesson of tested.learned) console.log(showLesson(lesson));
  if (tested.check.length > 0) console.log(`  look at: ${tested.check.join(", ")}`);
  if (!tested.ok) process.exitCode = 1;
}

await runCommand({ usage: USAGE, options, words: [0, 2] }, async ({ values, positionals: [command, name] }, refuse) => {
  if (command !== undefined && command !== "test") refuse();
  const service = await findService(values);
  await (command === "test" ? test(service, name) : list(service));
});
