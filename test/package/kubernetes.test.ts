import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { parse, parseAllDocuments } from "yaml";
import { CONFIG_VARIABLES, parseConfig } from "../../server/settings/config.ts";
import { makeMetrics } from "../../server/observe/metrics.ts";
import { pythonEnvironment } from "../servers/python-environment.ts";
import { describeUnless } from "../support/describe-unless.ts";
import { openTestService } from "../support/services/service.ts";

type Labels = Record<string, string>;

interface Container {
  image: string;
  ports: { name: string; containerPort: number }[];
  env: { name: string; valueFrom: { secretKeyRef: { name: string; key: string; optional?: boolean } } }[];
  envFrom: object[];
  lifecycle: { preStop: { sleep: { seconds: number } } };
  securityContext: object;
  volumeMounts: object[];
  [probe: `${string}Probe`]: { httpGet: { path: string; port: string } };
}

interface Pod {
  terminationGracePeriodSeconds: number;
  securityContext: object;
  containers: [Container];
  volumes: object[];
}

interface Manifest {
  kind: string;
  metadata: { name: string; labels: Labels; annotations: Labels };
  data: Labels;
  spec: {
    selector: { matchLabels: Labels };
    podSelector: { matchLabels: Labels };
    template: { metadata: { labels: Labels }; spec: Pod };
    scaleTargetRef: object;
    ports: { name: string; targetPort: string }[];
    ingress: { ports: { port: string }[] }[];
    rules: { http: { paths: { backend: { service: object } }[] } }[];
  };
}

const FOLDER = "deploy/kubernetes";
const KUSTOMIZATION = "kustomization.yaml";
const CANARY = path.join(FOLDER, "canary", "canary.yaml");
const names = readdirSync(FOLDER).filter((name) => name.endsWith(".yaml") && name !== KUSTOMIZATION);
const files = names.map((name) => path.join(FOLDER, name));
const manifests = new Map(files.map((file) => [file, parse(readFileSync(file, "utf8")) as Manifest]));

function manifest(kind: string): Manifest {
  const [found, ...more] = [...manifests.values()].filter((one) => one.kind === kind);
  if (!found || more.length > 0) throw new Error(`There must be one ${kind} in ${FOLDER}.`);
  return found;
}

const { template } = manifest("Deployment").spec;
const pod = template.spec;
const [container] = pod.containers;
const settings = manifest("ConfigMap").data;
const required = container.env.filter(({ valueFrom }) => valueFrom.secretKeyRef.optional !== true).map(({ name }) => name);

/** Names of settings that hold one. */
const SECRET = /KEYS?$|SECRET|TOKEN$|PASSWORD|DATABASE_URL$|HEADERS/;
const SECRETS = { DATABASE_URL: "postgres://user:password@host:5432/database", API_KEYS: "some-long-secret:acme" };

describe("the environment of the pods", () => {
  test("has only variables that the configuration reads, each from one place", () => {
    const names = [...Object.keys(settings), ...container.env.map(({ name }) => name)];
    expect(CONFIG_VARIABLES).toEqual(expect.arrayContaining(names));
    expect(new Set(names).size).toBe(names.length);
  });

  test("names a model's server, so that one line changes it to a local one", () => expect(settings).toHaveProperty("OPENAI_BASE_URL"));

  test("takes each secret by its own name from one Secret, and no secret from the ConfigMap", () => {
    expect(container.env.map(({ name }) => name).toSorted()).toEqual(CONFIG_VARIABLES.filter((name) => SECRET.test(name)).toSorted());
    for (const { name, valueFrom } of container.env)
      expect(valueFrom.secretKeyRef).toMatchObject({ name: "conversation-graph", key: name });
    expect(Object.keys(settings).filter((name) => SECRET.test(name))).toEqual([]);
    expect(container.envFrom).toEqual([{ configMapRef: { name: manifest("ConfigMap").metadata.name } }]);
  });

  test("is a valid configuration with the secrets that a pod needs to start, and an invalid one without them", () => {
    expect(required).toEqual(Object.keys(SECRETS));
    expect(parseConfig({ ...settings, ...SECRETS })).toMatchObject({ HOST: "0.0.0.0", PORT: container.ports[0]?.containerPort });
    expect(() => parseConfig({ ...settings, DATABASE_URL: SECRETS.DATABASE_URL })).toThrow("API_KEYS");
  });
});

describe("the pods", () => {
  test("are asked for their health at paths where the service answers without a key", async () => {
    const service = await openTestService({ API_KEYS: SECRETS.API_KEYS });
    // A liveness probe that asks Postgres would end processes during an outage.
    for (const [probe, path] of Object.entries({ startup: "/healthz", liveness: "/healthz", readiness: "/readyz" })) {
      expect(container[`${probe}Probe`]?.httpGet).toEqual({ path, port: container.ports[0]?.name });
      expect(await service.get(path)).toMatchObject({ status: 200 });
    }
    await service.close();
  });

  test("have time to finish their turns and to hand back their jobs", () => {
    const running = container.lifecycle.preStop.sleep.seconds * 1_000 + Number(settings["SHUTDOWN_GRACE_MS"]);
    expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThanOrEqual(running + 10_000);
  });

  test("run without privileges on a file system where only the temporary folder can be written", () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    const restricted = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } };
    expect(container.securityContext).toEqual(restricted);
    expect(container.volumeMounts).toEqual([
      { name: "temporary", mountPath: "/tmp" },
      { name: "models", mountPath: "/etc/conversation-graph", readOnly: true },
    ]);
    expect(pod.volumes).toEqual([
      { name: "temporary", emptyDir: { sizeLimit: "256Mi" } },
      { name: "models", secret: { secretName: "conversation-graph-models", optional: true } },
    ]);
  });

  test("have the image of this version", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    expect(container.image).toBe(`conversation-graph:${version}`);
  });
});

test("the kustomization brings every manifest", () => {
  const { resources } = parse(readFileSync(path.join(FOLDER, KUSTOMIZATION), "utf8")) as { resources: string[] };
  expect(resources.toSorted()).toEqual(names.toSorted());
});

describe("what stands around the pods", () => {
  test("selects the pods by their labels", () => {
    const { labels } = template.metadata;
    const own = { "app.kubernetes.io/name": "conversation-graph" };
    const family = { "app.kubernetes.io/part-of": "conversation-graph" };
    expect(labels).toEqual({ ...own, ...family });
    expect(manifest("Deployment").spec.selector.matchLabels).toEqual(own);
    expect(manifest("PodDisruptionBudget").spec.selector.matchLabels).toEqual(own);
    expect(manifest("NetworkPolicy").spec.podSelector.matchLabels).toEqual(family);
    expect(manifest("Service").spec.selector).toEqual(own);
    const { name } = manifest("Deployment").metadata;
    expect(manifest("HorizontalPodAutoscaler").spec.scaleTargetRef).toEqual({ apiVersion: "apps/v1", kind: "Deployment", name });
  });

  test("reaches their port by its name, from the ingress through the service and the network policy", () => {
    const names = container.ports.map(({ name }) => name);
    const [servicePort] = manifest("Service").spec.ports;
    expect(names).toContain(servicePort?.targetPort);
    for (const { ports } of manifest("NetworkPolicy").spec.ingress)
      expect(names).toEqual(expect.arrayContaining(ports.map(({ port }) => port)));
    const backends = manifest("Ingress").spec.rules.flatMap(({ http }) => http.paths.map(({ backend }) => backend.service));
    expect(backends).toEqual([{ name: manifest("Service").metadata.name, port: { name: servicePort?.name } }]);
  });

  test("holds no event back, and waits longer than the heartbeat of 15 seconds", () => {
    const { annotations } = manifest("Ingress").metadata;
    expect(annotations["nginx.ingress.kubernetes.io/proxy-buffering"]).toBe("off");
    for (const side of ["read", "send"])
      expect(Number(annotations[`nginx.ingress.kubernetes.io/proxy-${side}-timeout`])).toBeGreaterThan(60);
  });
});

describe("the canary", () => {
  const canary = parseAllDocuments(readFileSync(CANARY, "utf8")).map((document) => document.toJS() as Manifest);
  const of = (kind: string): Manifest => canary.find((one) => one.kind === kind) ?? manifest(kind);
  const own = { "app.kubernetes.io/name": "conversation-graph-canary" };

  test("is the same pod as the others but for its image, and stands behind the network policy but not behind their service", () => {
    const { selector, template: tried, ...rest } = of("Deployment").spec;
    expect(rest).toMatchObject({ replicas: 1 });
    expect(selector.matchLabels).toEqual(own);
    expect(tried.metadata.labels).toEqual({ ...own, ...manifest("NetworkPolicy").spec.podSelector.matchLabels });
    const asOthers = JSON.stringify(tried.spec).replaceAll('"conversation-graph-canary"', '"conversation-graph"');
    const image = { image: container.image };
    const withImage = (spec: Pod): Pod => ({ ...spec, containers: [{ ...spec.containers[0], ...image }] });
    expect(withImage(JSON.parse(asOthers) as Pod)).toEqual(withImage(pod));
  });

  test("gets its share of the same host, with the same patience", () => {
    const { annotations } = of("Ingress").metadata;
    expect(annotations).toMatchObject(manifest("Ingress").metadata.annotations);
    expect(annotations["nginx.ingress.kubernetes.io/canary"]).toBe("true");
    expect(of("Service").spec.selector).toEqual(own);
    const { name } = of("Service").metadata;
    const asOthers = JSON.stringify(of("Ingress").spec).replaceAll(`"${name}"`, '"conversation-graph"');
    expect(JSON.parse(asOthers)).toEqual(manifest("Ingress").spec);
  });
});

test("the metrics that docs/scaling.md and docs/canary.md name exist", async () => {
  const text = await makeMetrics().render(null);
  const known = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
  for (const page of ["docs/scaling.md", "docs/canary.md"]) {
    const named = [...readFileSync(page, "utf8").matchAll(/\b(?:conversation_graph|nodejs|process)_\w+/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !known.has(name.replace(/_bucket$/, "")))).toEqual([]);
  }
});

const { python, missing } = await pythonEnvironment(["kubernetes-validate==1.37.0"]);
describeUnless(missing, "Kubernetes' own schemas, which allow nothing unknown,", () => {
  const run = promisify(execFile);
  const validate = (version: string, ...given: string[]) =>
    run(python, ["-m", "kubernetes_validate", "--strict", "--kubernetes-version", version, ...given]);

  // The first that knows preStop.sleep without a switch, and the newest there is.
  test.each(["1.30", "1.37"])("of version %s accept each manifest", async (version) => {
    const { stdout, stderr } = await validate(version, ...files, CANARY);
    expect((stdout + stderr).match(/ passed for resource /g)).toHaveLength(files.length + 3);
  });

  test("refuse a misspelt field", async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), "conversation-graph-kubernetes-"));
    const file = path.join(folder, "deployment.yaml");
    writeFileSync(file, readFileSync(path.join(FOLDER, "deployment.yaml"), "utf8").replace("readinessProbe:", "readynessProbe:"));
    try {
      await expect(validate("1.37", file)).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining("readynessProbe") });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
