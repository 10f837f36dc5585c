// Package pullsecret copies the credentials of a private image registry for the operator's workloads.
//
// Input: the Secret network-operator-pull-secret in the operator's namespace. Output: a copy in each existing namespace of operands, and
// its name for rendering. A copy that another client modifies or deletes is restored; when the Secret is deleted, so are its copies.
//
// The controller never copies a Secret of another type or name, never copies into other namespaces, and never writes the content to a log,
// condition or record.
package pullsecret

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the controller, in conditions and in logs.
	Name = "pullsecret"
	// component is the component of the controller's findings.
	component = "PullSecret"
	// fieldManager owns the fields of the copies.
	fieldManager = client.FieldOwner("cluster-network-operator/pullsecret")

	reasonInvalid = "PullSecretInvalid"
	reasonTaken   = "PullSecretNameTaken"
	reasonFailed  = "PullSecretCopyFailed"
)

// Controller copies the pull secret. All fields up to Log must be set.
type Controller struct {
	// Facts reads the ConfigMap of the published facts.
	Facts client.Reader
	// Client reads Secrets with this name from the controller's cache, and writes.
	Client client.Client
	// Namespace is the operator's namespace; Namespaces are those of operands.
	Namespace  string
	Namespaces []string
	// Exists reports whether a namespace of operands that the operator creates exists.
	Exists func(namespace string) bool
	// Changed is called when the pull secret of workloads changes.
	Changed func()
	// Wake starts a reconcile, for example when a namespace of operands was created.
	Wake  *trigger.Trigger
	Board *report.Board
	Log   *slog.Logger

	// found is the name of the Secret, empty if there is none; nil until it is known.
	found atomic.Pointer[string]
}

// Found returns the name of the pull secret of workloads; empty if there is none. Before the first reconcile it returns the published name,
// because otherwise each start of the operator would change all workloads twice.
func (c *Controller) Found(ctx context.Context) (string, error) {
	if p := c.found.Load(); p != nil {
		return *p, nil
	}
	var cm corev1.ConfigMap
	if err := c.Facts.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: facts.ConfigMapName}, &cm); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "", fmt.Errorf("read published facts: %w", err)
	}
	published, err := facts.Published(cm.Data)
	if err != nil {
		c.Log.Warn("the published facts are unreadable", "error", err)
	}
	return published.PullSecret, nil
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Owns: cacheOptions(c.Namespace, c.Namespaces), Setup: c.setup}}
}

// cacheOptions selects the Secrets with this name. In other namespaces, where any tenant may create one, only the name is cached.
func cacheOptions(namespace string, operands []string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&corev1.Secret{}: {
		Field: fields.OneTermEqualSelector("metadata.name", facts.PullSecretName),
		Transform: func(o any) (any, error) {
			s, ok := o.(*corev1.Secret)
			if !ok {
				return o, nil
			}
			kept := &corev1.Secret{}
			kept.Name, kept.Namespace, kept.ResourceVersion, kept.UID = s.Name, s.Namespace, s.ResourceVersion, s.UID
			if s.Namespace == namespace || slices.Contains(operands, s.Namespace) {
				kept.Labels, kept.Type, kept.Data = s.Labels, s.Type, s.Data
			}
			return kept, nil
		},
	}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	c.Wake.Fire() // even if there is no Secret
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{}, c.Wake.Source(), loop.On(mgr, &corev1.Secret{}, c.Wake.Handler()))
}

// Reconcile updates all copies.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var all corev1.SecretList
	if err := c.Client.List(ctx, &all); err != nil {
		return reconcile.Result{}, fmt.Errorf("list pull secrets: %w", err)
	}
	in := map[string]*corev1.Secret{}
	for i := range all.Items {
		in[all.Items[i].Namespace] = &all.Items[i]
	}
	source := in[c.Namespace]
	problem := ""
	if source != nil {
		problem = problemOf(source)
	}
	if problem != "" {
		source = nil
	}
	failure := c.copyAll(ctx, source, in)
	c.Board.Report(Name, findings(c.Namespace, problem, failure)...)
	c.set(source)
	return reconcile.Result{}, failure.err()
}

// problemOf returns why a Secret is not usable as a pull secret; empty if it is.
func problemOf(s *corev1.Secret) string {
	switch {
	case s.Type != corev1.SecretTypeDockerConfigJson:
		return fmt.Sprintf("has the type %s", s.Type)
	case len(s.Data[corev1.DockerConfigJsonKey]) == 0:
		return "has no key " + corev1.DockerConfigJsonKey
	}
	return ""
}

// set stores the name of the pull secret, and calls Changed if it differs.
func (c *Controller) set(source *corev1.Secret) {
	name := ""
	if source != nil {
		name = source.Name
	}
	if before := c.found.Swap(&name); before == nil || *before != name {
		c.Changed()
	}
}

// failures are the namespaces whose copy could not be written.
type failures struct {
	errs []error
	// taken are the namespaces with a Secret of another client.
	taken []string
}

func (f failures) err() error { return errors.Join(f.errs...) }

// copyAll writes missing or different copies, or deletes all if there is no source.
func (c *Controller) copyAll(ctx context.Context, source *corev1.Secret, in map[string]*corev1.Secret) failures {
	var f failures
	for _, namespace := range c.Namespaces {
		existing := in[namespace]
		foreign := existing != nil && existing.Labels[manifest.LabelManagedBy] != manifest.ManagedBy
		var err error
		switch {
		case source == nil && existing != nil && !foreign:
			if err = client.IgnoreNotFound(c.Client.Delete(ctx, existing)); err == nil {
				c.Log.Info("deleted the copy of the pull secret", "namespace", namespace)
			}
		case source == nil:
		case foreign:
			f.taken = append(f.taken, namespace)
		case existing != nil && same(source, existing), !c.Exists(namespace):
		default:
			err = c.copy(ctx, source, existing, namespace)
		}
		if err != nil {
			f.errs = append(f.errs, fmt.Errorf("namespace %s: %w", namespace, err))
		}
	}
	return f
}

func same(a, b *corev1.Secret) bool {
	return a.Type == b.Type && maps.EqualFunc(a.Data, b.Data, slices.Equal[[]byte])
}

// copy writes one copy. A Secret of another type is replaced, because the type is immutable.
func (c *Controller) copy(ctx context.Context, source, existing *corev1.Secret, namespace string) error {
	if existing != nil && existing.Type != source.Type {
		if err := client.IgnoreNotFound(c.Client.Delete(ctx, existing)); err != nil {
			return err
		}
	}
	secret := corev1ac.Secret(source.Name, namespace).WithType(source.Type).WithData(source.Data).
		WithLabels(map[string]string{manifest.LabelManagedBy: manifest.ManagedBy})
	err := c.Client.Apply(ctx, secret, fieldManager, client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil // the namespace is deleted, and a new one starts a reconcile
	}
	if err == nil {
		c.Log.Info("copied the pull secret", "namespace", namespace)
	}
	return err
}

func findings(namespace, problem string, f failures) []status.Finding {
	note := func(reason, message string) []status.Finding {
		return []status.Finding{{Component: component, Effect: status.Degraded, Reason: reason, Message: message, Aside: true, Immediate: true}}
	}
	switch {
	case problem != "":
		return note(reasonInvalid, fmt.Sprintf("Secret %s/%s %s and is not used: delete it, and create it with 'kubectl create secret docker-registry'", namespace, facts.PullSecretName, problem))
	case len(f.taken) > 0:
		return note(reasonTaken, fmt.Sprintf("Secret %s in %s was not created by the operator and is used unchanged; delete it to have the operator create a copy", facts.PullSecretName, strings.Join(f.taken, ", ")))
	case f.err() != nil:
		return []status.Finding{{Component: component, Effect: status.Degraded, Reason: reasonFailed, Aside: true,
			Message: fmt.Sprintf("Secret %s cannot be copied: %v", facts.PullSecretName, f.err())}}
	}
	return nil
}
