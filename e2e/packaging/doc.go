// Package packaging tests what is made for the tools of others: the Helm charts by Helm's own library, and the samples for Flux by its
// types. It is a module of its own, since those libraries need more modules than all the rest.
package packaging
