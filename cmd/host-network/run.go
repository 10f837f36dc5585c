package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

func runCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Select the host's document, apply it, verify it, and keep it or roll back",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := o.open(cmd.Context())
			if err != nil {
				return err
			}
			if err := oncePerBoot(cmd.Context(), o.state, h.engine.Boot, o.database().ForgetOVN); err != nil {
				o.log.Warn("OVN may begin with the flows of an earlier boot", "error", err)
			}
			report, err := h.engine.Run(cmd.Context())
			if err == nil {
				err = errors.Join(h.rememberUplink(), announceBridge())
			}
			if err := errors.Join(err, h.close()); err != nil {
				return &exit.Code{Status: exit.Refused, Err: err}
			}
			fmt.Fprintln(cmd.OutOrStdout(), sentence(report))
			return nil
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func restoreCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Finish a change that an earlier run left unfinished, and do nothing else",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := o.open(cmd.Context())
			if err != nil {
				return err
			}
			if err := errors.Join(h.engine.Recover(cmd.Context()), h.close()); err != nil {
				return &exit.Code{Status: exit.Refused, Err: err}
			}
			return nil
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}
