// Package pullsecret gives the operator's workloads the credentials of a private image registry.
//
// Input: the Secret network-operator-pull-secret in the operator's namespace. Output: a copy of it in each namespace of operands that
// exists, and its name for the rendering of workloads. A copy that another client edits or deletes is restored; when the Secret is
// deleted, so are its copies.
//
// It must never copy a Secret of another type or name, or into a namespace that is not the operator's, and never write its content to a
// log, a condition or a record.
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
	// component is the <Component> in conditions.
	component = "PullSecret"
	// fieldManager owns the fields of the copies.
	fieldManager = client.FieldOwner("cluster-network-operator/pullsecret")

	reasonInvalid = "PullSecretInvalid"
	reasonTaken   = "PullSecretNameTaken"
	reasonFailed  = "PullSecretCopyFailed"
)

// Controller is the controller. All fields up to Log must be set.
type Controller struct {
	// Facts reads the ConfigMap of the facts that the operator has published.
	Facts client.Reader
	// Client reads Secrets of the name from the controller's cache, and writes.
	Client client.Client
	// Namespace is the operator's, Namespaces are those of operands.
	Namespace  string
	Namespaces []string
	// Exists reports whether a namespace of operands that the operator creates exists.
	Exists func(namespace string) bool
	// Changed is called when workloads get another pull secret, or none.
	Changed func()
	// Wake starts a reconcile, for example when a namespace of operands was created.
	Wake  *trigger.Trigger
	Board *report.Board
	Log   *slog.Logger

	// found is the name of the Secret, empty without one; nil as long as it is not known.
	found atomic.Pointer[string]
}

// Found returns the name of the Secret with which workloads pull their images; empty is none. Before the first reconcile, that of the
// published facts counts: without it, each start of the operator would change all workloads twice.
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
		c.Log.Warn("the published facts cannot be read", "error", err)
	}
	return published.PullSecret, nil
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Owns: owns(c.Namespace, c.Namespaces), Setup: c.setup}}
}

// owns are the Secrets of that name. Of those in other namespaces, which any tenant may create, nothing but the name is kept.
func owns(namespace string, operands []string) map[client.Object]cache.ByObject {
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
	c.Wake.Fire() // also without any Secret
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{}, c.Wake.Source(), loop.On(mgr, &corev1.Secret{}, c.Wake.Handler()))
}

// Reconcile brings all copies in line with the Secret.
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
		problem = usable(source)
	}
	if problem != "" {
		source = nil
	}
	failure := c.copyAll(ctx, source, in)
	c.Board.Report(Name, findings(c.Namespace, problem, failure)...)
	c.set(source)
	return reconcile.Result{}, failure.err()
}

// usable returns what is wrong with a Secret as a pull secret, or nothing.
func usable(s *corev1.Secret) string {
	switch {
	case s.Type != corev1.SecretTypeDockerConfigJson:
		return fmt.Sprintf("has the type %s", s.Type)
	case len(s.Data[corev1.DockerConfigJsonKey]) == 0:
		return "has no key " + corev1.DockerConfigJsonKey
	}
	return ""
}

// set makes known which Secret workloads use.
func (c *Controller) set(source *corev1.Secret) {
	name := ""
	if source != nil {
		name = source.Name
	}
	if before := c.found.Swap(&name); before == nil || *before != name {
		c.Changed()
	}
}

// failures are the namespaces in which a copy could not be written.
type failures struct {
	errs []error
	// taken are namespaces with a Secret of the name that another client has created.
	taken []string
}

func (f failures) err() error { return errors.Join(f.errs...) }

// copyAll writes the copies that are missing or differ, or deletes all if there is no source.
func (c *Controller) copyAll(ctx context.Context, source *corev1.Secret, in map[string]*corev1.Secret) failures {
	var f failures
	for _, namespace := range c.Namespaces {
		there := in[namespace]
		foreign := there != nil && there.Labels[manifest.LabelManagedBy] != manifest.ManagedBy
		var err error
		switch {
		case source == nil && there != nil && !foreign:
			if err = client.IgnoreNotFound(c.Client.Delete(ctx, there)); err == nil {
				c.Log.Info("pull secret deleted", "namespace", namespace)
			}
		case source == nil:
		case foreign:
			f.taken = append(f.taken, namespace)
		case there != nil && same(source, there), !c.Exists(namespace):
		default:
			err = c.copy(ctx, source, there, namespace)
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

// copy writes one copy. The type of a Secret cannot be changed: one of another type is replaced.
func (c *Controller) copy(ctx context.Context, source, there *corev1.Secret, namespace string) error {
	if there != nil && there.Type != source.Type {
		if err := client.IgnoreNotFound(c.Client.Delete(ctx, there)); err != nil {
			return err
		}
	}
	secret := corev1ac.Secret(source.Name, namespace).WithType(source.Type).WithData(source.Data).
		WithLabels(map[string]string{manifest.LabelManagedBy: manifest.ManagedBy})
	err := c.Client.Apply(ctx, secret, fieldManager, client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil // the namespace is gone, and a new one wakes the controller
	}
	if err == nil {
		c.Log.Info("pull secret copied", "namespace", namespace)
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
		return note(reasonTaken, fmt.Sprintf("Secret %s in %s was not created by the operator and is used as it is: delete it, and the operator creates a copy", facts.PullSecretName, strings.Join(f.taken, ", ")))
	case f.err() != nil:
		return []status.Finding{{Component: component, Effect: status.Degraded, Reason: reasonFailed, Aside: true,
			Message: fmt.Sprintf("Secret %s cannot be copied: %v", facts.PullSecretName, f.err())}}
	}
	return nil
}
