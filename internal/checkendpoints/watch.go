package checkendpoints

import (
	"context"
	"errors"
	"fmt"
	"time"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/connectivity"
)

// watchSeconds is the timeout of a watch. It is resumed afterwards, so that a stalled watch is detected.
const watchSeconds int64 = 300

// errGone means that the changes since a version are no longer available.
var errGone = errors.New("the changes are no longer known")

// watchChecks synchronizes the running checks with those of the API server until the context ends.
func (c *Checker) watchChecks(ctx context.Context) {
	version, served := "", true
	for ctx.Err() == nil {
		var err error
		if version == "" {
			version, err = c.list(ctx)
		}
		if err == nil {
			version, err = c.watch(ctx, version)
		}
		switch absent := isAbsent(err); {
		case err == nil || ctx.Err() != nil:
			continue
		case errors.Is(err, errGone):
			version = ""
			continue
		case absent:
			// The API server has answered: there is nothing to check.
			c.watching.Store(true)
			c.assign(ctx, nil)
			if served {
				c.Log.Info("checks are not served; waiting for them")
			}
			served = false
		default:
			c.watching.Store(false)
			c.Log.Warn("cannot follow checks", "error", err)
			served = true
		}
		version = ""
		pause(ctx, c.Pace.Again+offset(c.Pod, c.Pace.Again/2))
	}
}

// isAbsent reports whether an error means that the API is unavailable.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// list starts the existing checks, and returns the version from which to watch.
func (c *Checker) list(ctx context.Context) (string, error) {
	var all operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckList
	if err := c.Client.List(ctx, &all, c.own()...); err != nil {
		return "", fmt.Errorf("list checks: %w", err)
	}
	c.assign(ctx, all.Items)
	return all.ResourceVersion, nil
}

// own selects the checks of this pod.
func (c *Checker) own() []client.ListOption {
	return []client.ListOption{client.InNamespace(c.Namespace), client.MatchingLabels{connectivity.SourceLabel: c.Pod}}
}

// watch handles changes from a version on until the API server ends the watch, and returns the last version.
func (c *Checker) watch(ctx context.Context, version string) (string, error) {
	seconds := watchSeconds
	raw := &metav1.ListOptions{ResourceVersion: version, TimeoutSeconds: &seconds, AllowWatchBookmarks: true}
	w, err := c.Client.Watch(ctx, &operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckList{}, append(c.own(), &client.ListOptions{Raw: raw})...)
	if err != nil {
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return "", errGone
		}
		return "", fmt.Errorf("watch checks: %w", err)
	}
	defer w.Stop()
	c.watching.Store(true)
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			return "", watchError(e)
		}
		object, ok := e.Object.(*check)
		if !ok {
			continue
		}
		version = object.ResourceVersion
		switch e.Type {
		case watch.Added, watch.Modified:
			c.set(ctx, object)
		case watch.Deleted:
			c.remove(object.Name)
		default: // a bookmark is only a version
		}
	}
	return version, nil
}

func watchError(e watch.Event) error {
	err := apierrors.FromObject(e.Object)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return errGone
	}
	return fmt.Errorf("watch checks: %w", err)
}
