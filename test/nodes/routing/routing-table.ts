import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import type { Nearness } from "../../../nodes/routing/nearness.ts";
import { NEUTRAL_SENTENCES } from "../../../models/neutral-scale.ts";
import type { KnowledgeBase } from "../../../stores/knowledge-catalog.ts";

/** Six knowledge bases of one company, written as their owners would: some in English, some in Chinese, some in both. */
export const ROUTING_BASES: KnowledgeBase[] = [
  {
    prefix: "travel",
    description: "Travel rules: flights, hotels, trains and rental cars on business trips",
    keywords: ["flight", "hotel", "train", "business trip", "出差", "机票"],
    titles: ["Travel handbook", "Per diem rates by city", "Booking classes for long flights"],
  },
  {
    prefix: "finance",
    description: "财务报销制度：发票、报销期限、付款和预算审批",
    keywords: ["报销", "发票", "预算", "invoice", "reimbursement"],
    titles: ["报销制度", "Expense claims in three steps", "供应商付款流程"],
  },
  {
    prefix: "hr-leave",
    description: "HR: annual leave, sick leave, parental leave and public holidays. 员工假期与考勤规定",
    keywords: ["leave", "PTO", "vacation", "年假", "病假", "产假", "考勤"],
    titles: ["Leave policy", "员工请假管理办法", "Public holidays 2026"],
  },
  {
    prefix: "it-help",
    description: "IT help desk: passwords, VPN, laptops, printers, e-mail and software licences",
    keywords: ["password", "VPN", "laptop", "printer", "wifi", "密码", "打印机"],
    titles: ["How to connect to the VPN", "电脑故障自助排查", "Requesting new software"],
  },
  {
    prefix: "product",
    description: "产品手册：智能净水器 AquaPure 的安装、滤芯更换、清洗与故障代码",
    keywords: ["AquaPure", "滤芯", "净水器", "filter", "error code", "故障代码"],
    titles: ["AquaPure user manual", "净水器安装指南", "滤芯更换步骤"],
  },
  {
    prefix: "legal",
    description: "Contracts and legal: templates, signatures, non-disclosure agreements, data protection and liability",
    keywords: ["contract", "NDA", "合同", "保密协议", "GDPR"],
    titles: ["Standard contract templates", "Who may sign what", "合同审批流程", "Data protection guide"],
  },
];

/** A question and the prefix of the base that should be asked. The figures in the code were fitted to the half `chosen`. */
export interface RoutingQuestion {
  half: string;
  gold: string;
  text: string;
  /** The two nearest bases by the embedder of the table. */
  nearest: Nearness[];
}

const FILE = new URL("routing-questions.tsv", import.meta.url);

/** The table: its first line names the embedder and the hash of the texts that its figures are of. */
export async function readRoutingTable(): Promise<{ embedder: string; hash: string; questions: RoutingQuestion[] }> {
  const [[embedder = "", hash = ""] = [], ...rows] = (await readFile(FILE, "utf8"))
    .trim()
    .split("\n")
    .map((line) => line.split("\t"));
  const questions = rows.map(([half = "", gold = "", text = "", ...figures]) => {
    const nearest = [0, 2].map((place) => ({ prefix: figures[place] ?? "", nearness: Number(figures[place + 1]) }));
    return { half, gold, text, nearest };
  });
  return { embedder, hash, questions };
}

export const routingHash = (): string =>
  createHash("sha256")
    .update(JSON.stringify([NEUTRAL_SENTENCES, ROUTING_BASES]))
    .digest("hex");

export async function writeRoutingTable(embedder: string, questions: readonly RoutingQuestion[]): Promise<void> {
  const rows = questions.map(({ half, gold, text, nearest }) => {
    const figures = nearest.slice(0, 2).map(({ prefix, nearness }) => `${prefix}\t${Number(nearness.toFixed(3))}`);
    return [half, gold, text, ...figures].join("\t");
  });
  await writeFile(FILE, `${[`${embedder}\t${routingHash()}`, ...rows].join("\n")}\n`);
}
