// Package nodeblocks assigns blocks of a network's pools to nodes: they are stable while a node exists, and unique. It is pure.
package nodeblocks
