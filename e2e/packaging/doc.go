// Package packaging tests what is made for the tools of others: the Helm charts by Helm's own library, the samples for Flux by its types, and
// those for Argo CD by its CRD. It is a module of its own, since those libraries need more modules than all the rest.
package packaging
