import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../test/servers/postgres-server.ts";

const USAGE = "Set SMALL_MODEL to a GGUF file and LLAMA_SERVER to llama.cpp's llama-server";

function endWithUsage(): never {
  console.error(USAGE);
  process.exit(1);
}

/** llama.cpp's server with the file of SMALL_MODEL. Without these the process ends with what it needs. */
export async function startSmallModel({ context, slots }: { context: number; slots: number }): Promise<{ url: string; stop: () => void }> {
  const { SMALL_MODEL: modelFile = "", LLAMA_SERVER: serverFile = "" } = process.env;
  if (!existsSync(modelFile) || !existsSync(serverFile)) endWithUsage();
  const port = await freePort();
  const sizes = ["-c", String(context), "-np", String(slots), "-t", "2", "-ngl", "0"];
  const child = spawn(serverFile, ["-m", modelFile, "--port", String(port), ...sizes, "--jinja", "--alias", "small"], { stdio: "ignore" });
  for (const url = `http://127.0.0.1:${port}`; ; await sleep(200)) {
    if (child.exitCode !== null) throw new Error(`${serverFile} ended with ${child.exitCode}. ${USAGE}`);
    const isReady = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { url: `${url}/v1`, stop: () => void child.kill() };
  }
}
