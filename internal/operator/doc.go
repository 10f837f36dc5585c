// Package operator is the operator as a process: it finds the API server, makes the caches and clients that its
// loops share, and runs the loops that Run lists, each as soon as the API server serves what it watches.
package operator
