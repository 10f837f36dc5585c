package main

import (
	"context"
	"errors"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
)

// errRole is that a role has no code yet.
var errRole = errors.New("this build of ovnkube lacks the role; it runs the containers of Open vSwitch and OVN only")

func (p *program) master(_ context.Context, c config.Config) error {
	return errors.Join(c.CheckMaster(), errRole)
}

func (p *program) node(_ context.Context, c config.Config) error {
	return errors.Join(c.CheckNode(), errRole)
}

func (p *program) cleanup(context.Context, config.Config) error { return errRole }
