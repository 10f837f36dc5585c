package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
)

const (
	// genevePort is the default UDP port of ovn-controller.
	genevePort = 6081
	// portInterval is how often the port in the southbound database is checked.
	portInterval = 5 * time.Minute
	// southTimeout is the timeout of the check.
	southTimeout = 10 * time.Second
	optionPort   = "dst_port"
	// southDatabase is the name of the southbound database.
	southDatabase = "OVN_Southbound"
)

// applyTunnelPort sets the port that other nodes read from the southbound database. ovn-controller has no setting for it, and keeps an existing value.
func (d *daemonState) applyTunnelPort(ctx context.Context) error {
	if d.Config.TunnelPort == genevePort || time.Since(d.portChecked) < portInterval {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, southTimeout)
	defer cancel()
	client, err := connectSouth(ctx, d.Config)
	if err != nil {
		return fmt.Errorf("set the port of tunnels: %w", err)
	}
	defer func() { _ = client.Close() }()
	if err := setTunnelPort(ctx, client, d.Node, d.Config.TunnelPort); err != nil {
		return fmt.Errorf("set the port of tunnels: %w", err)
	}
	d.portChecked = time.Now()
	return nil
}

// setTunnelPort writes the port into the tunnel endpoints of a chassis that have another one.
func setTunnelPort(ctx context.Context, client *ovsdb.Client, chassis string, port uint16) error {
	results, err := client.Transact(ctx, southDatabase, ovsdb.Select("Encap", []string{"_uuid", "options"}, ovsdb.Equal("chassis_name", chassis)))
	if err != nil {
		return err
	}
	if len(results[0].Rows) == 0 {
		return errors.New("ovn-controller has not registered the node in the southbound database yet")
	}
	want := strconv.Itoa(int(port))
	var operations []ovsdb.Operation
	for _, row := range results[0].Rows {
		id := row.UUID("_uuid")
		if row.Map("options")[optionPort] == want {
			continue
		}
		operations = append(operations,
			ovsdb.Mutate("Encap", "options", "delete", ovsdb.Set{optionPort}, ovsdb.Is(id)),
			ovsdb.Mutate("Encap", "options", "insert", ovsdb.Map{optionPort: want}, ovsdb.Is(id)))
	}
	if len(operations) == 0 {
		return nil
	}
	_, err = client.Transact(ctx, southDatabase, operations...)
	return err
}

// connectSouth connects to the southbound database.
func connectSouth(ctx context.Context, c config.Config) (*ovsdb.Client, error) {
	endpoints, err := ovsdb.ParseEndpoints(c.South)
	if err != nil {
		return nil, err
	}
	return ovsdb.Connect(ctx, endpoints, ovsdb.Options{TLS: func() (*tls.Config, error) { return southTLS(c) }, ConnectTimeout: southTimeout / 4})
}

// southTLS returns the TLS configuration of connections to the southbound database. Both sides verify only the CA, as ovn-controller does: all use the same
// certificate, which names no address.
func southTLS(c config.Config) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.Certificate, c.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("load certificate: %w", err)
	}
	bundle, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("load CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("load CA: %s has no certificate", c.CA)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies all but the name.
		VerifyConnection: func(s tls.ConnectionState) error {
			options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
			for _, c := range s.PeerCertificates[1:] {
				options.Intermediates.AddCert(c)
			}
			_, err := s.PeerCertificates[0].Verify(options)
			return err
		},
	}, nil
}
