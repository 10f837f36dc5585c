// Package supervisor runs the programs of a node like an init system: it starts
// them, restarts them when they end, stops them on request and reaps orphans.
// Handler and Client provide the same operations over a unix socket, so that
// short-lived commands can use the supervisor in the first process of a node.
package supervisor

// Unit is the specification of a program to run.
type Unit struct {
	// Name identifies the unit on its node.
	Name string `json:"name"`
	// Path is the program, Args its arguments without the name.
	Path string   `json:"path"`
	Args []string `json:"args,omitempty"`
	// Env is the whole environment; the program inherits none.
	Env []string `json:"env,omitempty"`
	// Log is the file to which the output of the program is appended.
	Log string `json:"log"`
}

// State is the state of a unit.
type State string

const (
	// Running units have a process.
	Running State = "running"
	// Waiting units have ended and will be restarted.
	Waiting State = "waiting"
	// Stopped units are not restarted until Start.
	Stopped State = "stopped"
)

// Status is the observed state of a unit.
type Status struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// PID is that of the process in the node's PID namespace, 0 if there is none.
	PID int `json:"pid,omitempty"`
	// Restarts is the number of restarts after an unexpected end.
	Restarts int `json:"restarts"`
	// LastExit describes how the last process ended; empty if none has.
	LastExit string `json:"lastExit,omitempty"`
}
