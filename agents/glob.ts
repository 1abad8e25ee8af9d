/** Whether a name matches a pattern in which `*` stands for any characters. Linear: each part is looked for once, from left to right. */
export function matchesPattern(pattern: string, name: string): boolean {
  const parts = pattern.split("*");
  const [first = "", ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length >= at + last.length && name.endsWith(last);
}
