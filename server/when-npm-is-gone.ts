/** Milliseconds between two looks at who the parent is. */
const LOOK_MS = 250;

/**
 * Calls `stop` when this process was started by `npx` or `npm start` and the shell between npm and it has ended. npm hands a signal to
 * that shell, and not every shell hands it on: without this, the service would run on, unseen and with its data folder locked.
 */
export function whenNpmIsGone(stop: () => void): void {
  if (!["exec", "start"].includes(process.env["npm_command"] ?? "")) return;
  const parent = process.ppid;
  const looking = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(looking);
    stop();
  }, LOOK_MS);
  looking.unref();
}
