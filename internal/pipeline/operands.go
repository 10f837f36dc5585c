package pipeline

import "github.com/cluster-network-operator/cno/internal/provider"

// Operands returns the operands of all networks and components.
func (r Registry) Operands() provider.Operands {
	var all []provider.Operands
	for _, o := range r.owners() {
		if owner, ok := o.(provider.OperandOwner); ok {
			all = append(all, owner.Operands())
		}
	}
	return provider.Join(all...)
}

// owners returns all providers and components.
func (r Registry) owners() []any {
	var owners []any
	for _, p := range r.Providers {
		owners = append(owners, p)
	}
	for _, c := range r.Components {
		owners = append(owners, c)
	}
	return owners
}
