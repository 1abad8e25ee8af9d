import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";

const { SMALL_MODEL: modelFile = "", LLAMA_SERVER: serverFile = "" } = process.env;

/** Why there is none; undefined when it can be started. */
export const smallModelMissing =
  existsSync(modelFile) && existsSync(serverFile)
    ? undefined
    : "Set SMALL_MODEL to a GGUF file and LLAMA_SERVER to llama.cpp's llama-server";

/** `options` are those of llama-server. `context`: tokens, which the slots share. */
export interface SmallModel {
  context: number;
  slots: number;
  options?: readonly string[];
}

/** llama.cpp's server with the file of SMALL_MODEL, as the model `small`. Throws when it is missing or does not start. */
export async function startSmallModel({ context, slots, options = [] }: SmallModel): Promise<{ url: string; stop: () => void }> {
  if (smallModelMissing !== undefined) throw new Error(smallModelMissing);
  const port = await freePort();
  const sizes = ["-c", String(context), "-np", String(slots), "-t", "2", "-ngl", "0"];
  const given = ["-m", modelFile, "--port", String(port), ...sizes, "--jinja", "--alias", "small", ...options];
  const child = spawn(serverFile, given, { stdio: "ignore" });
  for (const url = `http://127.0.0.1:${port}`; ; await sleep(200)) {
    if (child.exitCode !== null) throw new Error(`${serverFile} ended with ${child.exitCode}; it was started with ${given.join(" ")}`);
    const isReady = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { url: `${url}/v1`, stop: () => void child.kill() };
  }
}
