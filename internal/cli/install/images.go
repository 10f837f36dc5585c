package install

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/release"
)

// image is an image of the release.
type image struct {
	// Name is the name of the image, Reference the reference that nodes pull.
	Name      string `json:"name"`
	Reference string `json:"reference"`
	// Variable is the key in the ConfigMap of images; empty for an image that a user starts.
	Variable string `json:"variable,omitempty"`
}

// NewImages creates the command images.
func NewImages() *cobra.Command {
	var prefix string
	var form output.Format
	cmd := &cobra.Command{
		Use:   "images",
		Short: "List the images of the release",
		Long: `Lists the images of this program's release: those of the operator and its networks, as cno install
deploys them, and must-gather and host-image-server, which users start. Each line is one reference.
In a cluster without access to other registries, one registry must have all of them, with the same
digests.

Exit status: 0 printed; 2 the command line is wrong.`,
		Example: `  cno images
  cno images --images registry.example/net -o json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := images(prefix)
			if err != nil {
				return err
			}
			if !form.ForPeople() {
				return form.Write(cmd.OutOrStdout(), list)
			}
			for _, i := range list {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), i.Reference); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&prefix, "images", release.DefaultPrefix, "registry and path of the images, without a slash at the end")
	form.Add(cmd)
	return cmd
}

// images returns the images of the release, sorted by name.
func images(prefix string) ([]image, error) {
	set, err := release.Linked(prefix)
	if err != nil {
		return nil, fmt.Errorf("--images: %w", err)
	}
	variables, err := release.Variables()
	if err != nil {
		return nil, err
	}
	names, err := release.Names()
	if err != nil {
		return nil, err
	}
	out := make([]image, 0, len(names))
	for _, name := range names {
		out = append(out, image{name, set.Reference(name), variables[name]})
	}
	return out, nil
}
