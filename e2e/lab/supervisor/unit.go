// Package supervisor keeps the programs of one node running, as an init system
// would: it starts them, starts them again when they end, stops them on
// request and collects the orphans they leave behind. Server and Client carry
// the same requests over a unix socket, so that the supervisor can be the first
// process of a node while commands come and go.
package supervisor

// Unit is one program that shall run.
type Unit struct {
	// Name identifies the unit on its node.
	Name string `json:"name"`
	// Path is the program, Args its arguments without the name.
	Path string   `json:"path"`
	Args []string `json:"args,omitempty"`
	// Env holds the whole environment; nothing is inherited.
	Env []string `json:"env,omitempty"`
	// Log is the file that takes what the program prints, appended.
	Log string `json:"log"`
}

// State is what a unit is doing.
type State string

const (
	// Running units have a process.
	Running State = "running"
	// Waiting units ended by themselves and are about to be started again.
	Waiting State = "waiting"
	// Stopped units stay so until they are started.
	Stopped State = "stopped"
)

// Status is a unit as it is now.
type Status struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// PID is the process as the node numbers it, 0 if there is none.
	PID int `json:"pid,omitempty"`
	// Restarts counts how often the unit ended without being asked to.
	Restarts int `json:"restarts"`
	// LastExit says how the last process ended, empty if none did.
	LastExit string `json:"lastExit,omitempty"`
}
