// A form made from the schema of a CRD. It edits a YAML document in place, so that comments and the order of keys stay.
import { Document, isMap, isSeq } from "yaml";
import { h, type Child } from "./dom";
import type { Schema } from "./types";

type Path = (string | number)[];

/** How deep fields are shown; deeper ones are written as YAML. */
const deepest = 6;

export class Form {
  readonly element = h("form", { class: "schema", submit: (e: Event) => e.preventDefault() });
  constructor(private schema: Schema, private doc: Document, private changed: () => void) { this.draw(); }

  /** Shows another document. */
  load(doc: Document): void { this.doc = doc; this.draw(); }

  private draw(): void {
    const focused = document.activeElement?.id;
    const open = new Set([...this.element.querySelectorAll("details[open]")].map((d) => d.id));
    this.element.replaceChildren(...this.object(this.schema, ["spec"], 0));
    for (const d of this.element.querySelectorAll("details")) if (open.has(d.id)) d.open = true;
    if (focused && this.element.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused)?.focus();
  }
  private set(path: Path, value: unknown): void {
    if (value === undefined) this.remove(path); else this.doc.setIn(path, this.doc.createNode(value));
    this.changed();
  }
  /** Removes a value, and the maps above that it leaves empty. */
  private remove(path: Path): void {
    this.doc.deleteIn(path);
    for (let up = path.slice(0, -1); up.length > 1; up = up.slice(0, -1)) {
      const parent = this.doc.getIn(up);
      if (isMap(parent) && parent.items.length === 0) this.doc.deleteIn(up); else break;
    }
  }
  private object(schema: Schema, path: Path, depth: number): Node[] {
    const required = new Set(schema.required ?? []);
    return Object.entries(schema.properties ?? {})
      .sort(([a], [b]) => Number(required.has(b)) - Number(required.has(a)) || Number(this.has([...path, b])) - Number(this.has([...path, a])) || (a < b ? -1 : 1))
      .map(([name, s]) => this.field(name, s, [...path, name], depth, required.has(name)));
  }
  private has(path: Path): boolean { return this.doc.hasIn(path); }

  private field(name: string, schema: Schema, path: Path, depth: number, required: boolean): Node {
    const id = path.join("-");
    const help = schema.description && h("p", { class: "faint", id: `${id}-help` }, schema.description);
    if (schema.type === "object" && schema.properties && depth < deepest) {
      return this.section(id, name, this.has(path), [help, ...this.object(schema, path, depth + 1)]);
    }
    if (schema.type === "array" && schema.items && depth < deepest) return this.array(id, name, schema.items, path, depth, help);
    return h("div", { class: "field" }, h("label", { for: id }, name, required && h("span", { class: "faint" }, " (required)")), this.input(id, schema, path), help);
  }
  private section(id: string, name: string, open: boolean, children: Child[]): HTMLElement {
    return h("details", { id: `${id}-section`, open: open && id.split("-").length < 4 }, h("summary", {}, name), h("div", { class: "indent" }, children));
  }
  private array(id: string, name: string, items: Schema, path: Path, depth: number, help: Child): HTMLElement {
    const node = this.doc.getIn(path);
    const count = isSeq(node) ? node.items.length : 0;
    const children: Child[] = [help];
    for (let i = 0; i < count; i++) {
      const at = [...path, i];
      const remove = h("button", { type: "button", class: "small", "aria-label": `Remove ${name} ${i + 1}`, click: () => { this.set(at, undefined); this.draw(); } }, "Remove");
      children.push(h("fieldset", {}, h("legend", {}, `${name} ${i + 1}`),
        items.type === "object" && items.properties ? this.object(items, at, depth + 1)
          : h("div", { class: "field" }, h("label", { class: "hidden", for: at.join("-") }, `${name} ${i + 1}`), this.input(at.join("-"), items, at)), remove));
    }
    children.push(h("button", { type: "button", class: "small", id: `${id}-add`, click: () => {
      this.set([...path, count], items.type === "object" ? {} : "");
      this.draw();
    } }, `Add to ${name}`));
    return this.section(id, `${name} (${count})`, count > 0, children);
  }
  private input(id: string, schema: Schema, path: Path): HTMLElement {
    const node = this.doc.getIn(path);
    const value = node === undefined || node === null ? "" : typeof node === "object" ? JSON.stringify(node) : String(node);
    const described = schema.description ? `${id}-help` : null;
    if (schema.enum) {
      return this.choice(id, path, described, value, schema.enum.map(String), (v) => v);
    }
    if (schema.type === "boolean") return this.choice(id, path, described, value, ["true", "false"], (v) => v === "true");
    if (schema.type === "integer" || schema.type === "number") {
      return h("input", { id, type: "number", value, min: schema.minimum, max: schema.maximum, "aria-describedby": described,
        input: (e: Event) => { const v = (e.target as HTMLInputElement).value; this.set(path, v === "" ? undefined : Number(v)); } });
    }
    if (schema.type === "string" || schema["x-kubernetes-int-or-string"]) {
      return h("input", { id, type: "text", value, spellcheck: "false", autocomplete: "off", "aria-describedby": described,
        input: (e: Event) => { const v = (e.target as HTMLInputElement).value; this.set(path, v === "" ? undefined : v); } });
    }
    return h("textarea", { id, rows: 2, spellcheck: "false", "aria-describedby": described, change: (e: Event) => {
      const area = e.target as HTMLTextAreaElement;
      try {
        this.set(path, area.value.trim() === "" ? undefined : JSON.parse(area.value));
        area.setCustomValidity("");
      } catch { area.setCustomValidity("This is not JSON."); }
      area.reportValidity();
    } }, value);
  }
  private choice(id: string, path: Path, described: string | null, value: string, values: string[], parse: (v: string) => unknown): HTMLElement {
    return h("select", { id, "aria-describedby": described, change: (e: Event) => { const v = (e.target as HTMLSelectElement).value; this.set(path, v === "" ? undefined : parse(v)); } },
      ["", ...values].map((v) => h("option", { value: v, selected: v === value }, v === "" ? "default" : v)));
  }
}
