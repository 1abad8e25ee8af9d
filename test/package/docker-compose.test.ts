import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { CONFIG_VARIABLES, parseConfig } from "../../server/settings/config.ts";

interface ComposeService {
  image?: string;
  build?: string;
  ports?: string[];
  volumes?: string[];
  environment?: Record<string, string | null>;
  depends_on?: Record<string, object>;
  profiles?: string[];
  configs?: { source: string; target: string }[];
  secrets?: string[];
}

const readYaml = (file: string): unknown => parse(readFileSync(file, "utf8"));
const compose = readYaml("docker-compose.yml") as {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
  configs: Record<string, { file: string }>;
  secrets: Record<string, { environment: string }>;
};

const PINNED = /:v?\d+\.\d+(\.\d+)?(-[\w.-]+)?$|:RELEASE\.\d{4}-\d{2}-\d{2}T[\d-]+Z$/;

test.each(Object.entries(compose.services))(
  "the container %s has a fixed version, a health check and restarts, is reached only from this machine, and waits for healthy ones",
  (_name, container) => {
    if (container.build === undefined) expect(container.image).toMatch(PINNED);
    else expect(container.build).toBe(".");
    const cmd = expect.arrayContaining([expect.stringMatching(/^CMD/)]) as unknown;
    expect(container).toMatchObject({ healthcheck: { test: cmd }, restart: "unless-stopped" });
    for (const port of container.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
    for (const [other, needs] of Object.entries(container.depends_on ?? {})) {
      expect(Object.keys(compose.services)).toContain(other);
      const isOptional = compose.services[other]?.profiles !== undefined && container.profiles === undefined;
      expect(needs).toEqual({ condition: "service_healthy", ...(isOptional ? { required: false } : {}) });
    }
  },
);

test("docker-compose.yml declares just the volumes that it uses", () => {
  const used = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(":")[0]));
  expect(used.sort()).toEqual(Object.keys(compose.volumes).sort());
});

test("docker-compose.yml starts the service and Postgres without a profile, and Milvus with what it needs by the profile of Milvus", () => {
  const startedBy = (profile?: string) => Object.keys(compose.services).filter((name) => compose.services[name]?.profiles?.[0] === profile);
  expect(startedBy()).toEqual(["service", "postgres"]);
  expect(startedBy("milvus")).toEqual(["milvus", "etcd", "minio"]);
});

describe("the profile of monitoring", () => {
  const inProfile = Object.entries(compose.services).filter(([, { profiles }]) => profiles?.includes("monitoring"));

  test("brings Prometheus and Grafana, which nothing else starts", () => {
    expect(inProfile.map(([name]) => name)).toEqual(["prometheus", "grafana"]);
  });

  test("mounts files that are there and a key from the environment", () => {
    const mounted = inProfile.flatMap(([, { configs = [] }]) => configs.map(({ source }) => source));
    expect(mounted.sort()).toEqual(Object.keys(compose.configs).sort());
    for (const { file } of Object.values(compose.configs)) expect(readFileSync(file, "utf8")).not.toBe("");
    expect(compose.services["prometheus"]?.secrets).toEqual(Object.keys(compose.secrets));
  });

  test("asks the service where it listens, with the key that Compose mounts", () => {
    const targets = [`service:${compose.services["service"]?.environment?.["PORT"]}`];
    const credentials_file = `/run/secrets/${compose.services["prometheus"]?.secrets?.[0]}`;
    const scraped = { authorization: { credentials_file }, static_configs: [{ targets }] };
    expect(readYaml("monitoring/prometheus.yml")).toMatchObject({ scrape_configs: [scraped] });
  });

  test("gives Grafana the data source that the dashboard names, and the folder it lies in", () => {
    const { datasources } = readYaml("monitoring/grafana-datasource.yml") as { datasources: { uid: string }[] };
    const { providers } = readYaml("monitoring/grafana-dashboards.yml") as { providers: { options: { path: string } }[] };
    const dashboard = readFileSync("monitoring/grafana-dashboard.json", "utf8");
    const uids = new Set([...dashboard.matchAll(/"type": "prometheus",\s*"uid": "([^"]+)"/g)].map(([, uid]) => uid));
    expect([...uids]).toEqual(datasources.map(({ uid }) => uid));
    const { target } = compose.services["grafana"]?.configs?.find(({ source }) => source === "grafana-dashboard") ?? { target: "" };
    expect(target).toBe(`${providers[0]?.options.path}/conversation-graph.json`);
  });
});

describe("the environment of the service", () => {
  const environment = compose.services["service"]?.environment ?? {};

  const filledIn = Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value?.replaceAll(/\$\{API_KEYS:\?[^}]*\}/g, "some-long-secret:acme").replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1"),
    ]),
  );

  test("holds every variable that the configuration reads, set or passed through, and no unknown one", () => {
    expect(Object.keys(environment).sort()).toEqual(CONFIG_VARIABLES.toSorted());
  });

  test("is a valid configuration with the default passwords", () => {
    expect(parseConfig(filledIn)).toMatchObject({
      HOST: "0.0.0.0",
      DATABASE_URL: "postgres://conversation_graph:conversation_graph@postgres:5432/conversation_graph",
    });
  });

  test("demands API_KEYS and says how to set it", () => expect(environment["API_KEYS"]).toMatch(/^\$\{API_KEYS:\?.*API_KEYS=\S+:\S+\}$/));
});
