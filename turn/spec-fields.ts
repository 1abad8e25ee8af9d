import { z } from "zod";

export const text = (limit: number) =>
  z
    .string({ error: ({ input }) => (input === undefined ? "is missing" : "must be a string") })
    .refine((value) => value.trim() !== "", "is blank")
    .refine((value) => value.isWellFormed() && !value.includes("\0"), "holds a NUL character or half of a surrogate pair")
    .max(limit, `has more than ${limit} characters`);
/** The name of a tool; `*` stands for any characters. */
export const toolPattern = z.string().regex(/^[\w*-]{1,200}$/, "must be the name of a tool; * stands for any characters");
export const list = <Item extends z.ZodType>(item: Item, most: number) =>
  z.array(item, "must be an array").max(most, `has more than ${most} entries`).default([]);
export const whole = (from: number, to: number) => z.int(`must be a whole number between ${from} and ${to}`).min(from).max(to);
