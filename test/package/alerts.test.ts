import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { ERROR_CODES } from "../../errors/error-codes.ts";
import { makeMetrics } from "../../server/observe/metrics.ts";
import { describeUnless } from "../support/describe-unless.ts";
import { succeeds } from "../support/wait-until.ts";

interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; action: string };
}

const FILE = "monitoring/alerts.yml";
const { groups } = parse(readFileSync(FILE, "utf8")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const run = promisify(execFile);

describe("the alert rules", () => {
  test("ask for metrics that exist, and wait before they fire", async () => {
    const known = new Set([...(await makeMetrics().render(null)).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
    const named = rules.flatMap(({ expr, annotations }) => `${expr} ${annotations.action}`.match(/\bconversation_graph_\w+/g) ?? []);
    expect(named.length).toBeGreaterThan(rules.length);
    expect(named.map((name) => name.replace(/_bucket$/, "")).filter((name) => !known.has(name))).toEqual([]);
    for (const rule of rules)
      expect(rule).toMatchObject({ for: expect.stringMatching(/^\d+m$/), labels: { severity: expect.stringMatching(/^(page|warning)$/) } });
  });

  test("count as failed only what is a code of a turn", () => {
    const [, outcomes = ""] = /outcome=~"([^"]+)"/.exec(rules.find(({ alert }) => alert === "AnswersFail")?.expr ?? "") ?? [];
    for (const outcome of outcomes.split("|"))
      expect(Object.keys(ERROR_CODES).filter((code) => new RegExp(`^(?:${outcome})$`).test(code))).not.toEqual([]);
  });

  test("lie where Prometheus of docker-compose.yml reads them", () => {
    const { rule_files: files } = parse(readFileSync("monitoring/prometheus.yml", "utf8")) as { rule_files: string[] };
    const { services } = parse(readFileSync("docker-compose.yml", "utf8")) as {
      services: { prometheus: { configs: { target: string }[] } };
    };
    expect(services.prometheus.configs.map(({ target }) => target)).toEqual(
      expect.arrayContaining(files.map((name) => `/etc/prometheus/${name}`)),
    );
  });
});

/** Debian has it in its package `prometheus`. */
const { PROMTOOL_PATH: promtool = "/usr/bin/promtool" } = process.env;
const isThere = await succeeds(run(promtool, ["--version"]));
describeUnless(isThere ? undefined : "no promtool; PROMTOOL_PATH names it", "Prometheus' own promtool", () => {
  test("finds no fault in the alert rules", async () => {
    expect((await run(promtool, ["check", "rules", FILE])).stdout).toContain(`${rules.length} rules found`);
  });

  test("sees each rule fire on a bad day and none on a good one, and the examples name every rule", async () => {
    const examples = "monitoring/alerts.test.yml";
    expect((await run(promtool, ["test", "rules", examples])).stdout).toContain("SUCCESS");
    const named = [...readFileSync(examples, "utf8").matchAll(/alertname="(\w+)"/g)].map(([, name]) => name);
    expect(named).toEqual(rules.map(({ alert }) => alert));
  });
});
