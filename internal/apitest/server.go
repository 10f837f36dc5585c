package apitest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cluster-network-operator/cno/api/crds"
)

// startTimeout is how long each of the two programs may take on a machine that is busy with other tests.
const startTimeout = 90 * time.Second

// Options of a server. The zero value suits most tests.
type Options struct {
	// Audit makes the server keep a log of all requests, which Server.Requests reads.
	Audit bool
	// CRDs are served in addition to those of this project.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// OpenShift names kinds of OpenShift and of third parties to serve in addition, as <plural>.<group>:
	// proxies.config.openshift.io. Package openshift has them; openshift.Kinds lists all that the operator uses.
	OpenShift []string
	// WithoutProjectCRDs leaves out the kinds of this project.
	WithoutProjectCRDs bool
	// ServiceCIDR is the service network of the server; empty is 10.96.0.0/16.
	ServiceCIDR string
	// EtcdQuota is how many bytes the etcd behind the server takes before it is full; 0 is its own default of 2 GiB.
	EtcdQuota int
}

// Server is a running API server.
type Server struct {
	// Config is that of an administrator. It does not limit the rate of requests.
	Config *rest.Config
	// Client is an administrator's, and knows the types of Scheme.
	Client client.Client
	// Kubeconfig is the path of an administrator's kubeconfig file.
	Kubeconfig string
	// Etcd is the URL of the etcd behind the server, for who fills a cluster with more objects than requests can.
	Etcd string

	env *envtest.Environment
	dir string
	log *os.File
}

// Start starts a server of its own for a test, which ends with the test. It fails the test if it cannot.
func Start(tb testing.TB, options Options) *Server {
	tb.Helper()
	server, err := start(options)
	if err != nil {
		tb.Fatalf("start API server: %v", err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("last lines of the API server's log:\n%s", server.logTail())
		}
		if err := server.stop(); err != nil {
			tb.Errorf("stop API server: %v", err)
		}
	})
	return server
}

func start(options Options) (*Server, error) {
	// Without a logger, controller-runtime prints a stack trace after 30 seconds. Its own messages are not those of the code under test.
	log.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "cno-apitest-")
	if err != nil {
		return nil, err
	}
	server := &Server{dir: dir}
	if err := server.run(options); err != nil {
		err = fmt.Errorf("%w\nlast lines of its log:\n%s", err, server.logTail())
		return nil, errors.Join(err, server.stop())
	}
	return server, nil
}

// run starts the programs and fills the server's exported fields.
func (s *Server) run(options Options) error {
	env, err := s.environment(options)
	if err != nil {
		return err
	}
	s.env = env
	if s.Config, err = env.Start(); err != nil {
		return err
	}
	s.Config.QPS, s.Config.Burst = -1, 0
	s.Etcd = env.ControlPlane.Etcd.URL.String()
	if s.Client, err = s.ClientFor(s.Config); err != nil {
		return err
	}
	s.Kubeconfig = filepath.Join(s.dir, "kubeconfig")
	return os.WriteFile(s.Kubeconfig, env.KubeConfig, 0o600)
}

// environment describes the programs and their arguments.
func (s *Server) environment(options Options) (*envtest.Environment, error) {
	programs, err := findAssets()
	if err != nil {
		return nil, err
	}
	definitions, err := openShiftDefinitions(context.Background(), options.OpenShift)
	if err != nil {
		return nil, err
	}
	definitions = append(definitions, options.CRDs...)
	if !options.WithoutProjectCRDs {
		own, err := crds.All()
		if err != nil {
			return nil, err
		}
		definitions = append(own, definitions...)
	}
	if s.log, err = os.Create(s.logFile()); err != nil {
		return nil, err
	}
	existing := false
	env := &envtest.Environment{
		CRDs:                     definitions,
		UseExistingCluster:       &existing,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
	}
	env.ControlPlane.Etcd = &envtest.Etcd{Out: s.log, Err: s.log}
	if options.EtcdQuota > 0 {
		env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", strconv.Itoa(options.EtcdQuota))
	}
	apiserver := env.ControlPlane.GetAPIServer()
	apiserver.Out, apiserver.Err = s.log, s.log
	if env.ControlPlane.Etcd.Path, err = dieWithParent(s.dir, programs.etcd); err != nil {
		return nil, err
	}
	if apiserver.Path, err = dieWithParent(s.dir, programs.apiserver); err != nil {
		return nil, err
	}
	serviceCIDR := options.ServiceCIDR
	if serviceCIDR == "" {
		serviceCIDR = "10.96.0.0/16"
	}
	// What is set here takes the place of a default only because of Set; Append would come after it.
	apiserver.Configure().Set("service-cluster-ip-range", serviceCIDR)
	if options.Audit {
		return env, s.configureAudit(apiserver)
	}
	return env, nil
}

// stop ends the programs and removes their files. It may be called more than once.
func (s *Server) stop() error {
	var err error
	if s.env != nil {
		err = s.env.Stop()
	}
	_ = s.log.Close() // a nil file, or one that is closed already, only answers with an error
	return errors.Join(err, os.RemoveAll(s.dir))
}
