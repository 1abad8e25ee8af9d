type Compare = (value: unknown, wanted: unknown) => boolean;

const isOf: Compare = (value, wanted) => Array.isArray(wanted) && wanted.includes(value);

/** The operators of LangGraph's stores. */
const OPERATORS: Readonly<Record<string, Compare>> = {
  $eq: (value, wanted) => value === wanted,
  $ne: (value, wanted) => value !== wanted,
  $gt: (value, wanted) => Number(value) > Number(wanted),
  $gte: (value, wanted) => Number(value) >= Number(wanted),
  $lt: (value, wanted) => Number(value) < Number(wanted),
  $lte: (value, wanted) => Number(value) <= Number(wanted),
  $in: isOf,
  $nin: (value, wanted) => !isOf(value, wanted),
};

function fitsOne(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted)) return value === wanted;
  const operators = Object.entries(wanted);
  const isKnown = operators.every(([name]) => Object.hasOwn(OPERATORS, name));
  return isKnown && operators.every(([name, operand]) => OPERATORS[name]?.(value, operand) === true);
}

/** Whether an item's value has, or its operators accept, every field of a filter. */
export function fits(value: Record<string, unknown>, filter: Record<string, unknown> | undefined): boolean {
  return Object.entries(filter ?? {}).every(([name, wanted]) => fitsOne(value[name], wanted));
}
