import { live } from "../api";
import type { Context } from "../context";
import { badge, h, link, list, replace, table, when, type Child, type Kind } from "../dom";
import type { Component, Finding, Overview, Rollout } from "../types";

export const kinds: Record<string, Kind> = {
  healthy: "good", progressing: "moving", degraded: "bad", unavailable: "bad", absent: "bad", unknown: "unknown",
};

export function overview({ body, problem, say }: Context): () => void {
  let last = "";
  return live<Overview>("overview", {
    document(doc) {
      problem("");
      if (last && last !== doc.sentence) say(doc.sentence);
      last = doc.sentence;
      replace(body, content(doc));
      body.setAttribute("data-ready", "");
    },
    problem,
  });
}

function content(doc: Overview): Child[] {
  const n = doc.status.network;
  return [
    h("section", { class: "lead" },
      badge(kinds[doc.status.state] ?? "unknown", doc.status.state),
      h("p", { class: "sentence" }, doc.sentence),
      n && h("p", { class: "faint" }, `Pods ${(n.clusterNetwork ?? []).join(", ") || "–"}, Services ${(n.serviceNetwork ?? []).join(", ") || "–"}`),
      doc.status.paused && h("p", { class: "note" }, `Paused${doc.status.paused.by ? ` by ${doc.status.paused.by}` : ""}: nothing is changed or repaired.`)),
    list([...(doc.status.warnings ?? []), ...(doc.missing ?? [])], "notes"),
    doc.rollout && rollout(doc.rollout),
    doc.findings && findings(doc.findings),
    h("section", {}, h("h2", {}, "Components"),
      table("Components", ["Name", "Available", "Changing", "Degraded", "Version", "Since", "Cause"], doc.status.components.map(component), "stack")),
    h("section", {}, h("h2", {}, "Changes in the last day"),
      doc.changes.length === 0 ? h("p", {}, "None.")
        : h("ol", { class: "timeline" }, doc.changes.map((c) => h("li", {}, when(c.time), c.revision ? link("/history", c.what) : h("span", {}, c.what))))),
  ];
}

function component(c: Component): Child[] {
  const state = (value: string | undefined, bad: string, kind: Kind): Child => value === undefined ? "–" : badge(value === "Unknown" ? "unknown" : value === bad ? kind : "good", { True: "yes", False: "no" }[value] ?? value);
  return [c.name, state(c.available, "False", "bad"), state(c.progressing, "True", "moving"), state(c.degraded, "True", "bad"), c.version ?? "–", when(c.since), c.message ?? ""];
}

/** How far a rollout is, with one bar for each workload. */
export function rollout(r: Rollout): HTMLElement {
  const left = r.secondsLeft ? `, about ${r.secondsLeft < 90 ? `${r.secondsLeft} s` : `${Math.round(r.secondsLeft / 60)} min`} left` : "";
  return h("section", {}, h("h2", {}, "Rollout"),
    h("p", {}, `${r.percent} % of the pods are up to date${left}. `, r.since && ["Started ", when(r.since), "."]),
    r.workloads.map((w) => h("div", { class: "progress" },
      h("label", {}, `${w.name}: ${w.done} of ${w.nodes} nodes`, h("progress", { max: Math.max(1, w.nodes), value: w.done })),
      w.waiting && w.waiting.length > 0 && h("p", { class: "faint" }, "Waiting for ", w.waiting.slice(0, 8).map((n, i) => [i > 0 && ", ", link(`/nodes/${encodeURIComponent(n)}`, n)]), w.waiting.length > 8 && ` and ${w.waiting.length - 8} more`))));
}

const severities: Record<string, Kind> = { critical: "bad", warning: "moving", note: "unknown" };

function findings(all: Finding[]): HTMLElement {
  return h("section", {}, h("h2", {}, "Findings of cno doctor"),
    all.length === 0 ? h("p", {}, "No problems.") : h("ul", { class: "cards" }, all.map((f) => h("li", { class: "card" },
      badge(severities[f.severity] ?? "unknown", f.severity), h("p", {}, h("strong", {}, f.what)), h("p", {}, "Cause: ", f.cause), h("p", {}, "Way out: ", f.wayOut)))));
}
