// Package apitest runs tests against a real kube-apiserver with a real etcd behind it. It is for what depends
// on the behaviour of the server: validation rules of CRDs, server-side apply, watches, RBAC, the number of
// requests. Only test code imports it.
//
// A test binary has one server. It starts when the first test asks for it, and stops when the binary ends,
// however it ends:
//
//	func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }
//
//	func TestNetworkIsAccepted(t *testing.T) {
//		server := apitest.Shared(t)
//		server.Create(t, network) // deleted when the test ends
//	}
//
// A test that needs a server to itself, to stop it or to give it other options, calls Start; one that needs it only for a while,
// and leaves it as it found it, calls Borrow.
//
// The server serves the kinds of this project (package api/crds) beside the built-in ones, and those of OpenShift that
// Options.OpenShift names; Install and Uninstall add and remove kinds while it runs. RBAC is in effect;
// Server.Config and Server.Client are an administrator's, and User and ServiceAccount give configurations
// with fewer permissions. No controllers run: nothing is garbage-collected, namespaces that are deleted stay
// Terminating, workloads never become ready, and service accounts and tokens exist only when they are asked
// for. So a test makes a namespace for itself with Namespace and leaves it behind, and sets the status of
// workloads itself.
//
// The programs kube-apiserver and etcd are taken from the directory that the environment variable
// CNO_TEST_ASSETS names, or else from _output/lab/bin in the repository.
package apitest
