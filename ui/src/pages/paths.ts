import { live, post } from "../api";
import type { Context } from "../context";
import { ago, badge, h, link, list, replace, table, when, type Child, type Kind } from "../dom";
import type { Check, Paths, TestReport } from "../types";

const kinds: Record<string, Kind> = { reached: "good", failed: "bad", unknown: "unknown" };

/** How many targets are shown at a time. */
const rows = 100;

/** The state of a check, in as many words as a cell has room for. */
export function matrixCell(c: Check): Child {
  const text = c.state === "reached" ? c.milliseconds ? `${c.milliseconds.toFixed(1)} ms` : "reached" : c.state === "failed" ? `failed${c.since ? ` for ${ago(c.since)}` : ""}` : "unknown";
  return badge(kinds[c.state] ?? "unknown", text);
}

export function paths({ body, problem, say, session }: Context): () => void {
  let doc: Paths | undefined;
  let shown = rows;
  const summary = h("section");
  const matrix = h("section");
  const result = h("section", { "aria-live": "polite" });
  const search = h("input", { id: "filter", type: "search", placeholder: "name of a target", input: () => { shown = rows; draw(); } });
  const button = h("button", { id: "try", disabled: !session.mayTest, click: () => void test() }, "Try now");

  function draw(): void {
    if (!doc) return;
    const { sources, checks } = doc;
    const at = new Map(checks.map((c) => [`${c.source}\n${c.target}`, c]));
    const targets = doc.targets.filter((t) => t.includes(search.value));
    const failing = checks.filter((c) => c.state === "failed");
    replace(summary,
      h("p", { class: "sentence" }, checks.length === 0 ? "" : failing.length === 0 ? `All ${checks.length} connectivity checks reach their targets.` : `${failing.length} of ${checks.length} connectivity checks fail.`),
      list(doc.notes, "notes"),
      failing.length > 0 && table("Checks that fail", ["From", "To", "Since", "Hop", "Cause"], failing.slice(0, rows).map((c) => [c.source, h("span", { class: "name" }, c.target), when(c.since), c.hop ?? "", c.message ?? ""]), "stack"));
    replace(matrix,
      checks.length > 0 && [
        table("Targets by sources", ["Target", ...sources.map((s) => link(`/nodes/${encodeURIComponent(s)}`, s))], targets.slice(0, shown).map((t) => [
          t, ...sources.map((s): Child => { const c = at.get(`${s}\n${t}`); return c ? matrixCell(c) : h("span", { class: "faint" }, "–"); })]), "matrix"),
        targets.length > shown && h("button", { id: "more", click: () => { shown += rows; draw(); } }, `Show more: ${targets.length - shown} targets left`)]);
  }
  async function test(): Promise<void> {
    button.disabled = true;
    replace(result, h("p", { role: "status" }, "Pods are started on up to three nodes and test all connections that must work. This takes up to two minutes."));
    try {
      const r = await post<TestReport>("connectivity", { nodes: [] });
      say(`${r.passed} of ${r.passed + r.failed} pass`);
      replace(result, h("p", { class: "sentence" }, `${r.passed} of ${r.passed + r.failed} scenarios pass, in ${r.seconds.toFixed(1)} s.`),
        list(r.hops.map((x) => h("strong", {}, x)), "notes"), list(r.notes, "notes"),
        table("Scenarios", ["Scenario", "Result", "Cause"], r.scenarios.map((s) => [s.name, badge(s.ok ? "good" : "bad", s.ok ? `${s.milliseconds} ms` : "failed"), s.error ?? ""]), "stack"));
    } catch (error) {
      replace(result, h("p", { class: "note" }, (error as Error).message));
    }
    button.disabled = !session.mayTest;
  }
  replace(body, summary, h("label", { class: "field" }, "Filter", search), matrix,
    h("section", {}, h("h2", {}, "Connectivity test"),
      h("p", {}, "Creates pods in a new namespace, tests every kind of connection between them, reports the hop that fails, and deletes the pods."),
      button, !session.mayTest && h("p", { class: "faint" }, session.archive ? "An archive cannot be tested." : "This user may not create namespaces."), result));
  return live<Paths>("paths", { document(d) { problem(""); doc = d; draw(); body.setAttribute("data-ready", ""); }, problem });
}
