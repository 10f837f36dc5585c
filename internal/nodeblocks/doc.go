// Package nodeblocks gives nodes blocks of a network's pools: stable while a node exists, and never one block to two nodes. It is pure.
package nodeblocks
