// How a plan is shown: the answer of cno plan.
import { badge, h, list, table, type Child, type Kind } from "./dom";
import type { FieldChange, Plan } from "./types";

const decisions: Record<string, [kind: Kind, text: string]> = {
  "unchanged": ["good", "Nothing changes: this is what is applied."],
  "safe": ["good", "Safe: the operator will apply it."],
  "needs-acknowledgement": ["moving", "Disruptive: the operator applies it once the change is acknowledged."],
  "refused": ["bad", "Refused: the operator would not make this change."],
  "blocked": ["bad", "Blocked: the API server refuses objects that the operator needs."],
  "invalid": ["bad", "Invalid: the configuration has errors."],
};

export function value(v: unknown): string {
  return v === null || v === undefined ? "none" : typeof v === "string" ? v : JSON.stringify(v);
}

export function changesTable(changes: FieldChange[]): HTMLElement {
  return table("Changes", ["Field", "From", "To", "Decision", "Effect"], changes.map((c) => [
    h("code", {}, c.field), value(c.old), value(c.new), c.decision, [`${c.class}, ${c.disruption}`, c.message && h("p", {}, c.message)]]), "stacked");
}

/** Marks the lines of a unified diff. */
export function diff(text: string): HTMLElement {
  return h("pre", { class: "diff", tabindex: 0 }, text.split("\n").map((line) =>
    [h("span", { class: line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : line.startsWith("@@") ? "faint" : null }, line), "\n"]));
}

export function planView(p: Plan): Child[] {
  const [kind, text] = decisions[p.decision] ?? ["unknown", p.decision];
  const count = new Map<string, number>();
  // The table of changes has the errors of its fields.
  const unlisted = p.errors.filter((e) => !p.changes.some((c) => c.field === e.field && c.message === e.message));
  for (const o of p.objects) count.set(o.action, (count.get(o.action) ?? 0) + 1);
  return [
    h("p", { class: "decision" }, badge(kind, text)),
    list(unlisted.map((e) => [e.field && h("code", {}, e.field), e.field && ": ", e.value && `${e.value}: `, e.message]), "notes bad"),
    list(p.blocked, "notes bad"),
    p.changes.length > 0 && changesTable(p.changes),
    p.objects.length > 0 && h("details", { id: "objects" }, h("summary", {}, `Objects: ${[...count].map(([a, n]) => `${n} ${a}`).join(", ")}`),
      p.objects.map((o) => h("details", { id: `object-${o.kind}-${o.namespace}-${o.name}` }, h("summary", {}, `${o.action} ${o.kind} ${o.namespace ? `${o.namespace}/` : ""}${o.name}`), list(o.reasons, "notes"), diff(o.diff)))),
    list(p.notes, "notes"),
  ];
}

/** The part of a plan in which a person acknowledges a disruptive change; empty if there is nothing to acknowledge. */
export function acknowledgement(p: Plan, toggled: (hash: string) => void): Child {
  if (!p.acknowledgement) return null;
  const hash = p.acknowledgement;
  return h("label", { class: "check" },
    h("input", { id: "acknowledge", type: "checkbox", change: (e: Event) => toggled((e.target as HTMLInputElement).checked ? hash : "") }),
    ` I acknowledge this change and what it disrupts (${hash.slice(0, 12)}).`);
}
