import { Graph, layout } from "@dagrejs/dagre";
import { live } from "../api";
import { badge, h, link, list, replace, svg, table, when, type Child, type Kind } from "../dom";
import type { Context } from "../main";
import type { HostDocument, Hosts, Role } from "../types";

const results: Record<string, Kind> = { Applied: "good", Applying: "moving", Pending: "moving", RolledBack: "bad", Failed: "bad", NoNode: "unknown" };

export function hosts({ body, problem }: Context): () => void {
  return live<Hosts>("hosts", {
    document(doc) {
      problem("");
      replace(body, doc.roles.length === 0
        ? h("p", {}, "No HostNetworkConfig configures hosts of this cluster; their network is as it was installed.")
        : doc.roles.map(role));
      body.setAttribute("data-ready", "");
    },
    problem,
  });
}

function role(r: Role): HTMLElement {
  return h("section", {}, h("h2", {}, `${r.name}: hosts with the role ${r.role}`),
    list(r.problems, "notes"),
    h("p", {}, r.conditions.map((c) => [badge(c.status === "True" ? "good" : c.status === "False" ? "bad" : "unknown", `${c.type}: ${c.status}`), " "])),
    r.documents.map((d, i) => h("details", { id: `document-${r.name}-${d.file}`, open: i === 0 }, h("summary", {}, d.file), document_(d))),
    r.hosts.length > 0 && table("Hosts", ["Host", "Result", "Document", "Reported", "What differs"], r.hosts.map((x): Child[] => [
      x.node ? link(`/nodes/${encodeURIComponent(x.node)}`, x.name) : x.name, badge(results[x.result] ?? "unknown", x.result), x.file ?? "–", when(x.time), x.message ?? ""]), "stack"));
}

function document_(d: HostDocument): Child[] {
  return [
    h("div", { class: "picture", tabindex: 0, role: "group", "aria-label": `Picture of ${d.file}` }, picture(d), h("p", { class: "faint" }, "Arrows lead from an interface to the one that is built on it.")),
    table("Interfaces", ["Name", "Type", "State", "Addresses", "Details"], d.interfaces.map((i) => [i.name, i.type, i.state, (i.addresses ?? []).join(", ") || "–", [...(i.details ?? []), i.mtu ? `MTU ${i.mtu}` : ""].filter(Boolean).join(", ")]), "stack"),
    d.routes.length > 0 && table("Routes", ["Destination", "By", "Interface"], d.routes.map((r) => [r.destination, r.via ?? "–", r.interface ?? "–"]), "stack"),
    d.dns && d.dns.length > 0 && h("p", {}, `Names are resolved by ${d.dns.join(", ")}.`),
    h("details", {}, h("summary", {}, "The document"), h("pre", { tabindex: 0 }, d.text)),
  ];
}

const line = 16;

function picture(d: HostDocument): SVGElement {
  const graph = new Graph();
  graph.setGraph({ rankdir: "BT", nodesep: 24, ranksep: 40, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  const named = new Map(d.interfaces.map((i) => [i.name, i]));
  const lines = new Map<string, string[]>();
  for (const name of new Set([...named.keys(), ...d.links.flatMap((l) => [l.from, l.to])])) {
    const i = named.get(name);
    const text = [name, ...(i ? [i.type, ...(i.details ?? []), ...(i.addresses ?? [])] : ["not in the document"])];
    lines.set(name, text);
    graph.setNode(name, { width: Math.max(...text.map((t) => t.length)) * 7.6 + 24, height: text.length * line + 14 });
  }
  for (const l of d.links) graph.setEdge(l.from, l.to);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const marker = `arrow-${d.file.replace(/[^a-z0-9]/gi, "-")}`;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Interfaces of ${d.file}; the table below has the same` },
    svg("defs", {}, svg("marker", { id: marker, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z", class: "arrow" }))),
    graph.edges().map((e) => {
      const points = (graph.edge(e) as { points: { x: number; y: number }[] }).points;
      return svg("polyline", { points: points.map((p) => `${p.x},${p.y}`).join(" "), class: "edge", "marker-end": `url(#${marker})` });
    }),
    graph.nodes().map((name) => {
      const n = graph.node(name) as { x: number; y: number; width: number; height: number };
      const i = named.get(name);
      return svg("g", {}, svg("rect", { x: n.x - n.width / 2, y: n.y - n.height / 2, width: n.width, height: n.height, rx: 6, class: `box ${i ? i.state : "foreign"}` }),
        (lines.get(name) ?? []).map((t, k) => svg("text", { x: n.x, y: n.y - n.height / 2 + (k + 1) * line + 2, "text-anchor": "middle", class: k === 0 ? "strong" : "" }, t)));
    }));
}
