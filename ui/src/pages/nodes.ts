import { live } from "../api";
import type { Context } from "../context";
import { badge, h, link, list, replace, svg, table, when, type Child, type Kind } from "../dom";
import type { NodePage, NodeRow, Nodes, Pool } from "../types";
import { matrixCell } from "./paths";

/** The states of internal/nodestate, the least severe first. */
const states: Record<string, [kind: Kind, text: string]> = {
  "ready": ["good", "ready"], "cordoned": ["unknown", "cordoned"], "host-network-failed": ["moving", "host network failed"], "fight-detected": ["moving", "fight detected"],
  "unreachable": ["bad", "unreachable"], "agent-not-ready": ["moving", "agent not ready"], "not-ready": ["bad", "not ready"],
};
const stateOf = (n: NodeRow): [kind: Kind, text: string] => states[n.state] ?? ["unknown", n.state];
const state = (n: NodeRow): Child => badge(...stateOf(n));

/** How many rows are shown at a time. */
const rows = 100;

export function nodes({ body, problem, say }: Context, _: string, query: URLSearchParams): () => void {
  const all = new Map<string, NodeRow>();
  const cells = new Map<string, SVGElement>();
  let order: NodeRow[] = [];
  let shown = rows;
  const search = h("input", { id: "filter", type: "search", value: query.get("filter") ?? "", placeholder: "name, address, block, state", input: () => { shown = rows; filter(); } });
  const counts = h("p", { id: "counts" });
  const pools = h("section");
  const map = h("div", { class: "map", mouseover: (e: Event) => describe(e.target as Element), click: (e: Event) => { const name = (e.target as Element).getAttribute("data-node"); if (name) go(name); } });
  const found = h("section");
  const notes = h("div");
  const go = (name: string) => link(`/nodes/${encodeURIComponent(name)}`).dispatchEvent(new MouseEvent("click", { bubbles: true }));

  const matches = (n: NodeRow, words: string[]): boolean => {
    const text = [n.name, n.state, ...(n.blocks ?? []), ...(n.addresses ?? []), ...(n.roles ?? []), n.kubelet ?? "", ...(n.agents ?? [])].join(" ").toLowerCase();
    return words.every((w) => text.includes(w));
  };
  function filter(): void {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length > 0 ? order.filter((n) => matches(n, words)) : order;
    const hit = new Set(words.length > 0 ? hits.map((n) => n.name) : []);
    for (const [name, cell] of cells) cell.classList.toggle("dim", words.length > 0 && !hit.has(name));
    // What needs attention first; order is that of names.
    const first = Object.keys(states).reverse().flatMap((s) => hits.filter((n) => n.state === s)).slice(0, shown);
    replace(found,
      table("Nodes", ["Name", "State", "Address blocks", "Address", "MTU", "Agents", "Kubelet", "Cause"], first.map((n) => [
        link(`/nodes/${encodeURIComponent(n.name)}`, n.name), state(n), (n.blocks ?? []).join(", ") || "–", (n.addresses ?? []).join(", "), n.mtu ?? "–", (n.agents ?? []).join(", ") || "–", n.kubelet ?? "", n.why ?? ""]), "stack"),
      hits.length > shown && h("button", { id: "more", click: () => { shown += rows; filter(); } }, `Show more: ${hits.length - shown} of ${hits.length} left`));
    const address = new URL(location.href);
    if (search.value) address.searchParams.set("filter", search.value); else address.searchParams.delete("filter");
    globalThis.history.replaceState(null, "", address);
  }
  function paint(n: NodeRow): void {
    cells.get(n.name)?.setAttribute("class", `cell ${stateOf(n)[0]}`);
  }
  /** Gives a mark its tooltip once the pointer is on it: thousands of them would be made for nothing. */
  function describe(cell: Element): void {
    const n = all.get(cell.getAttribute("data-node") ?? "");
    if (n) cell.replaceChildren(svg("title", {}, `${n.name}: ${stateOf(n)[1]}${n.blocks ? `, ${n.blocks.join(", ")}` : ""}`));
  }
  function draw(): void {
    order = [...all.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    const size = order.length > 1000 ? 9 : order.length > 200 ? 14 : 22;
    const columns = Math.max(1, Math.floor((map.clientWidth || 800) / size));
    const height = Math.ceil(order.length / columns) * size;
    cells.clear();
    const picture = svg("svg", { role: "img", "aria-label": `Map of ${order.length} nodes; the table below has the same`, width: columns * size, height, viewBox: `0 0 ${columns * size} ${height}` });
    order.forEach((n, i) => {
      const cell = svg("rect", { x: (i % columns) * size + 1, y: Math.floor(i / columns) * size + 1, width: size - 2, height: size - 2, rx: 2, "data-node": n.name });
      cells.set(n.name, cell);
      paint(n);
      picture.append(cell);
    });
    map.replaceChildren(picture);
  }
  function sum(doc: { pools: Pool[]; counts: Record<string, number>; notes?: string[] }): void {
    const text = Object.keys(states).map((s) => doc.counts[s] ? `${doc.counts[s]} ${states[s]![1]}` : "").filter(Boolean).join(", ");
    counts.textContent = `${all.size} nodes: ${text || "none"}`;
    replace(pools, h("h2", {}, "Address pools"), doc.pools.map(pool), doc.pools.length > 0 && h("p", { class: "legend", "aria-hidden": "true" },
      [["used", "in use"], ["reserved", "reserved within used blocks"], ["free", "free"]].map(([kind, text]) => h("span", {}, h("span", { class: `swatch ${kind}` }), ` ${text}`))),
      doc.pools.length > 0 && h("p", { class: "faint" }, "Blocks that a network keeps for deleted nodes count as free, since no object lists them."));
    replace(notes, list(doc.notes, "notes"));
  }
  function page(): void {
    replace(body, counts, notes,
      h("section", {}, h("h2", {}, "Map"), h("label", { class: "field" }, "Filter", search), legend(), map), pools, h("h2", {}, "List"), found);
  }
  let width = 0;
  const resized = new ResizeObserver(() => { if (Math.abs(map.clientWidth - width) > 8) { width = map.clientWidth; draw(); filter(); } });
  const close = live<Nodes>("nodes", {
    document(doc) {
      problem("");
      all.clear();
      for (const n of doc.nodes) all.set(n.name, n);
      page(); sum(doc); width = map.clientWidth; draw(); filter();
      resized.observe(map);
      body.setAttribute("data-ready", "");
    },
    changes(c) {
      const same = c.removed.length === 0 && c.changed.every((n) => all.has(n.name));
      for (const name of c.removed) all.delete(name);
      for (const n of c.changed) {
        if (all.get(n.name)?.state !== n.state) say(`${n.name}: ${stateOf(n)[1]}`);
        all.set(n.name, n);
      }
      if (same) { order = order.map((n) => all.get(n.name) ?? n); c.changed.forEach(paint); } else draw();
      sum(c); filter();
    },
    problem,
  });
  return () => { close(); resized.disconnect(); };
}

function legend(): HTMLElement {
  return h("p", { class: "legend" }, Object.values(states).map(([kind, text]) => [badge(kind, text), " "]));
}

/** A count that a person reads. */
function count(n: number): string {
  return n > 1e9 ? "more than a billion" : n.toLocaleString("en");
}

/** How wide a pool is drawn, in units of its picture. */
const barWidth = 1000;

function pool(p: Pool): HTMLElement {
  const share = p.blocks > 0 ? Math.min(1, p.used / p.blocks) : 0;
  const used = share > 0 ? Math.max(4, share * barWidth) : 0;
  const reserved = p.reserved && used > 0 ? Math.max(3, used * p.reserved / p.addresses) : 0;
  return h("figure", { class: "pool" },
    h("figcaption", {}, h("strong", {}, p.cidr), ` in blocks of /${p.hostPrefix || "?"}: ${count(p.used)} in use, ${count(Math.max(0, p.blocks - p.used))} free`,
      p.reserved && h("span", { class: "faint" }, `. ${count(p.addresses - p.reserved)} of the ${count(p.addresses)} addresses of a block are for pods; reserved: ${p.reservedFor}.`)),
    svg("svg", { viewBox: `0 0 ${barWidth} 24`, preserveAspectRatio: "none", "aria-hidden": "true", class: "bar" },
      svg("rect", { class: "free", width: barWidth, height: 24 }), svg("rect", { class: "used", width: used - reserved, height: 24 }), reserved > 0 && svg("rect", { class: "reserved", x: used - reserved, width: reserved, height: 24 })));
}

export function node({ body, problem }: Context, name: string): () => void {
  return live<NodePage>(`nodes/${name}`, {
    document(n) {
      problem("");
      replace(body,
        h("p", {}, link("/nodes", "All nodes")),
        h("section", { class: "lead" }, state(n), n.why && h("p", { class: "sentence" }, n.why)),
        list(n.notes, "notes"),
        h("section", {}, h("h2", {}, "Network"), h("dl", {},
          ([["Addresses", (n.addresses ?? []).join(", ")], ["Address blocks", (n.blocks ?? []).join(", ")], ["MTU", n.mtu ? `${n.mtu} bytes` : ""], ["Agents", (n.agents ?? []).join(", ")], ["Kubelet", n.kubelet ?? ""], ["System", n.system.join(", ")], ["Roles", (n.roles ?? []).join(", ")]] as const)
            .map(([term, value]) => [h("dt", {}, term), h("dd", {}, value || "–")]))),
        h("section", {}, h("h2", {}, "Routes"), n.routes.length === 0 ? h("p", {}, "This network does not declare its routes.")
          : [table("Routes", ["Destination", "Addresses of", "Path"], n.routes.map((r) => [r.to ?? "other addresses", r.of, r.way]), "stack"),
            h("p", { class: "faint" }, "The network declares these routes for pods of the node. The routes in the node's kernel are in no object: cno trace reads those of one path, and ip route on the node lists all.")]),
        h("section", {}, h("h2", {}, "Containers of the network"), n.programs.length === 0 ? h("p", {}, "None runs on this node.")
          : [table("Containers of the network", ["Pod", "Container", "Image", "Host ports"], n.programs.map((p) => [h("span", { class: "break" }, p.pod), p.container, h("span", { class: "break" }, p.image), (p.ports ?? []).join(", ") || "–"]), "stack"),
            h("p", { class: "faint" }, "Ports that the pods declare or are probed on; the port of a tunnel is listed with the routes.")]),
        h("section", {}, h("h2", {}, "Connectivity checks"), n.checks.length === 0 ? h("p", {}, "None runs from or to this node.")
          : table("Connectivity checks", ["From", "To", "State", "Endpoint", "Cause"], n.checks.map((c) => [c.source, c.target, matrixCell(c), c.endpoint, c.message ?? ""]), "stack")),
        h("section", {}, h("h2", {}, "Pods"), table("Pods", ["Pod", "State", "Addresses", "Network", "Restarts"], n.pods.map((p) => [
          h("span", { class: "break" }, `${p.namespace}/${p.name}`), badge(p.ready || p.phase === "Succeeded" ? "good" : "moving", p.phase), (p.addresses ?? []).join(", "), p.hostNetwork ? "host" : "pod", p.restarts ?? 0]), "stack")),
        h("section", {}, h("h2", {}, "Conditions"), table("Conditions", ["Type", "Status", "Since", "Message"], n.conditions.map((c) => [c.type, c.status, when(c.since), c.message ?? ""]), "stack")));
      body.setAttribute("data-ready", "");
    },
    problem,
  });
}
