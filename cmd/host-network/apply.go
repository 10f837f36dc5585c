package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
)

func applyCommand(o *options) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Apply the document that a request names while the host is in use, and keep it or roll back until it changes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			request, err := readRequest(file)
			if err != nil {
				return err
			}
			h, err := o.open(cmd.Context())
			if err != nil {
				return err
			}
			report, err := h.engine.Apply(cmd.Context(), request)
			if err == nil {
				err = announceBridge()
			}
			if err := errors.Join(err, h.close()); err != nil {
				return &exit.Code{Status: exit.Refused, Err: err}
			}
			fmt.Fprintln(cmd.OutOrStdout(), sentence(report))
			return nil
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&file, "request", "/run/host-network/apply/request.json", "the file with the request, as JSON: the sha256 of the document, and the attempt")
	return cmd
}

func readRequest(file string) (hostapply.Request, error) {
	var r hostapply.Request
	data, err := os.ReadFile(file)
	if err != nil {
		return r, fmt.Errorf("read request: %w", err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read request %s: %w", file, err)
	}
	if r.SHA256 == "" {
		return r, fmt.Errorf("read request %s: it names no document: sha256 is missing", file)
	}
	return r, nil
}
