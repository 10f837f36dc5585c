import { live, post } from "../api";
import type { Context } from "../context";
import { badge, h, replace, when, type Kind } from "../dom";
import { acknowledgement, changesTable, planView } from "../plan";
import type { History, Plan, Revision } from "../types";

function kind(r: Revision): Kind {
  return r.stalled ? "bad" : r.result.startsWith("healthy") ? "good" : r.result.startsWith("applied") ? "moving" : "unknown";
}

export function history(context: Context): () => void {
  const { body, problem, session } = context;
  const all = h("div");
  const back = h("section", { "aria-live": "polite", id: "rollback" });
  replace(body, back, all);
  return live<History>("history", {
    document(doc) {
      problem("");
      replace(all, doc.revisions.length === 0 ? h("p", {}, "No network has been rolled out yet.")
        : h("ol", { class: "cards", reversed: true }, doc.revisions.map((r) => h("li", { class: "card" },
          h("h2", {}, `Revision ${r.number}`, r.current && " (active)"), badge(kind(r), r.result), r.stalled && h("p", { class: "note" }, r.stalled),
          h("p", {}, when(r.time), ` with ${r.operatorVersion}`, r.by && `, by ${r.by}`, r.changed.length > 0 && `. Changed: ${r.changed.join(", ")}`),
          r.changes.length > 0 && h("details", { id: `changes-${r.number}` }, h("summary", {}, "What changed"), changesTable(r.changes)),
          h("details", { id: `yaml-${r.number}` }, h("summary", {}, "Full specification"), h("pre", { tabindex: 0 }, r.yaml)),
          session.mayChange && h("button", { id: `back-${r.number}`, click: () => void plan(r.number) }, r.current ? "Undo edits that are not applied" : `Roll back to revision ${r.number}`)))));
      body.setAttribute("data-ready", "");
    },
    problem,
  });
  async function plan(revision: number): Promise<void> {
    replace(back, h("p", {}, "Planning"));
    try {
      const p = await post<Plan>("rollback", { revision: String(revision), dryRun: true });
      let acknowledged = "";
      const apply = h("button", { id: "apply", disabled: !p.applies, click: () => void submit() }, `Roll back to revision ${p.revision}`);
      const submit = async () => {
        apply.disabled = true;
        try {
          const done = await post<Plan>("rollback", { revision: String(revision), acknowledge: acknowledged });
          replace(back, h("p", { class: "sentence" }, done.applied ? `Rolled back to revision ${done.revision}; Overview shows the rollout.` : "Nothing was changed."));
        } catch (error) { replace(back, h("p", { class: "note" }, (error as Error).message)); }
      };
      replace(back, h("h2", {}, `Plan for the rollback to revision ${p.revision}`), planView(p),
        acknowledgement(p, (hash) => { acknowledged = hash; apply.disabled = hash === "" && !p.applies; }), h("p", {}, apply));
      back.scrollIntoView();
    } catch (error) { replace(back, h("p", { class: "note" }, (error as Error).message)); }
  }
}
