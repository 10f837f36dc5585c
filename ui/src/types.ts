// The documents of the server. Package internal/ui/page has their meaning.

export interface Session { name: string; archive?: boolean; file?: boolean; version: string; mayChange: boolean; mayTest: boolean }

export interface Component { name: string; available?: string; progressing?: string; degraded?: string; version?: string; since?: string; reason?: string; message?: string }
export interface Status {
  state: string; why?: string; warnings?: string[]; components: Component[];
  network?: { type: string; clusterNetwork: string[] | null; serviceNetwork: string[] | null; version?: string; generation: number; observedGeneration: number };
  paused?: { by?: string; since?: string; reason?: string };
}
export interface Workload { namespace: string; name: string; done: number; nodes: number; waiting?: string[] }
export interface Rollout { done: number; nodes: number; percent: number; since?: string; secondsLeft?: number; workloads: Workload[] }
export interface Finding { severity: string; what: string; cause: string; wayOut: string }
export interface Overview { sentence: string; status: Status; rollout?: Rollout; changes: { time: string; what: string; revision?: number }[]; findings?: Finding[]; missing?: string[] }

export interface Pool { cidr: string; hostPrefix: number; blocks: number; used: number; addresses: number; reserved?: number; reservedFor?: string }
export interface NodeRow { name: string; state: string; why?: string; blocks?: string[]; addresses?: string[]; roles?: string[]; kubelet?: string; agents?: string[]; mtu?: number }
export interface Nodes { pools: Pool[]; counts: Record<string, number>; nodes: NodeRow[]; notes?: string[] }
export interface NodeChanges { changed: NodeRow[]; removed: string[]; pools: Pool[]; counts: Record<string, number>; notes?: string[] }
export interface Condition { type: string; status: string; since?: string; message?: string }
export interface Pod { namespace: string; name: string; node?: string; addresses?: string[]; hostNetwork?: boolean; phase: string; ready: boolean; restarts?: number }
export interface Program { pod: string; container: string; image: string; ports?: string[] }
export interface NodePage extends NodeRow { system: string[]; conditions: Condition[]; programs: Program[]; routes: { to?: string; of: string; way: string }[]; pods: Pod[]; checks: Check[]; notes?: string[] }

export interface Check { name: string; source: string; target: string; node?: boolean; endpoint: string; state: string; since?: string; hop?: string; message?: string; milliseconds?: number }
export interface Paths { sources: string[]; targets: string[]; checks: Check[]; failed: number; notes?: string[] }
export interface TestReport { passed: number; failed: number; hops: string[]; scenarios: { name: string; ok: boolean; error?: string; milliseconds: number }[]; notes: string[]; seconds: number }

export interface Schema {
  type?: string; description?: string; enum?: unknown[]; properties?: Record<string, Schema>; items?: Schema; required?: string[];
  minimum?: number; maximum?: number; additionalProperties?: unknown; "x-kubernetes-preserve-unknown-fields"?: boolean; "x-kubernetes-int-or-string"?: boolean;
}
export interface ChangeDocument { yaml: string; exists: boolean; schema: Schema; shortForm?: boolean }
export interface FieldChange { field: string; old: unknown; new: unknown; decision: string; rule?: string; message?: string; class: string; disruption: string }
export interface Plan {
  decision: string; errors: { field: string; value: string; rule: string; message: string }[]; changes: FieldChange[];
  objects: { action: string; apiVersion: string; kind: string; namespace: string; name: string; diff: string; reasons?: string[] }[];
  blocked?: string[]; acknowledgement?: string; acknowledged?: boolean; notes?: string[]; applied: boolean; applies: boolean; generation?: number; revision?: number;
}

export interface Revision { number: number; operatorVersion: string; time: string; by?: string; current: boolean; stalled?: string; changes: FieldChange[]; result: string; changed: string[]; yaml: string }
export interface History { revisions: Revision[] }

export interface HostInterface { name: string; type: string; state: string; mtu?: number; addresses?: string[]; details?: string[] }
export interface HostDocument { file: string; interfaces: HostInterface[]; links: { from: string; to: string }[]; routes: { destination: string; via?: string; interface?: string }[]; dns?: string[]; text: string }
export interface Difference { subject: string; aspect: string; want: string; have: string }
export interface Role { name: string; role: string; conditions: Condition[]; problems?: string[]; documents: HostDocument[]; hosts: { name: string; node?: string; file?: string; result: string; message?: string; time?: string; differences?: Difference[] }[] }
export interface Drawing { name: string; text: string; problems: string[]; errors: boolean; documents: HostDocument[] }
export interface Hosts { roles: Role[]; draft?: Drawing }

export interface PodNames { pods: Pod[]; notes?: string[] }
export interface Way { from: Pod; to: Pod; protocol: string; port: number; passes: boolean; steps: { where: string; ok: boolean; what: string }[]; notes?: string[] }
