package pki

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// roleName is the ClusterRole that allows to get, create and update Secrets and ConfigMaps, and the name of its bindings. The operator may
// bind it, but has no such permission by default.
const roleName = "cluster-network-operator-pki"

// errPermissionPending reports that a permission was just granted and is not effective yet.
var errPermissionPending = errors.New("the permission for the Secrets of the namespace is not effective yet")

func isPermissionPending(err error) bool { return errors.Is(err, errPermissionPending) }

// permissions caches the namespaces whose Secrets the operator may read. Its zero value is ready.
type permissions struct {
	mu      sync.Mutex
	allowed map[string]bool
}

func (r *permissions) has(namespace string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.allowed[namespace]
}

func (r *permissions) set(namespace string, allowed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.allowed == nil {
		r.allowed = map[string]bool{}
	}
	r.allowed[namespace] = allowed
}

// ensurePermissions ensures that the operator may read and write Secrets and ConfigMaps in the namespace of an OperatorPKI. It checks
// before it reads, so that the API server denies no request.
func (c *Controller) ensurePermissions(ctx context.Context, pki *networkv1.OperatorPKI) error {
	if c.permissions.has(pki.Namespace) {
		return nil
	}
	for _, resource := range []string{"secrets", "configmaps"} {
		for _, verb := range []string{"get", "create", "update"} {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: pki.Namespace, Verb: verb, Resource: resource}}}
			if err := c.Client.Create(ctx, review); err != nil {
				return fmt.Errorf("check permission to %s %s: %w", verb, resource, err)
			}
			if !review.Status.Allowed {
				return c.bindRole(ctx, pki)
			}
		}
	}
	c.permissions.set(pki.Namespace, true)
	return nil
}

// bindRole grants the operator permission for the Secrets of an OperatorPKI's namespace. The binding is owned by the OperatorPKIs of the
// namespace and deleted with the last one.
func (c *Controller) bindRole(ctx context.Context, pki *networkv1.OperatorPKI) error {
	var binding rbacv1.RoleBinding
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: pki.Namespace, Name: roleName}, &binding)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read role binding %s: %w", roleName, err)
	}
	desired := desiredBinding(pki, c.Account)
	if err != nil {
		if err := c.Client.Create(ctx, desired, fieldManager); err != nil {
			return fmt.Errorf("create role binding %s: %w", roleName, err)
		}
		c.Log.Info("granted permission for the Secrets of a namespace", "namespace", pki.Namespace)
		return errPermissionPending
	}
	if binding.RoleRef == desired.RoleRef && slices.Equal(binding.Subjects, desired.Subjects) {
		// A binding takes effect a moment after its creation.
		if c.Now().Sub(binding.CreationTimestamp.Time).Abs() < resyncInterval {
			return errPermissionPending
		}
		return fmt.Errorf("the RoleBinding %s grants no permission for the Secrets of the namespace; check that the ClusterRole of that name exists", roleName)
	}
	if binding.Labels[manifest.LabelManagedBy] != manifest.ManagedBy {
		return &nameTakenError{"RoleBinding " + roleName}
	}
	uid := binding.UID
	if err := c.Client.Delete(ctx, &binding, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("replace role binding %s: %w", roleName, err)
	}
	return errPermissionPending
}

// shareBinding adds the OperatorPKI to the owners of the binding.
func (c *Controller) shareBinding(ctx context.Context, pki *networkv1.OperatorPKI) error {
	var binding rbacv1.RoleBinding
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: pki.Namespace, Name: roleName}, &binding)
	if apierrors.IsNotFound(err) {
		return nil // the permission is granted otherwise
	}
	if err != nil {
		return fmt.Errorf("read role binding %s: %w", roleName, err)
	}
	owner := ownerOf(pki)
	if slices.ContainsFunc(binding.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == owner.UID }) ||
		binding.Labels[manifest.LabelManagedBy] != manifest.ManagedBy {
		return nil
	}
	binding.OwnerReferences = append(binding.OwnerReferences, owner)
	if err := c.Client.Update(ctx, &binding, fieldManager); err != nil {
		return fmt.Errorf("own role binding %s: %w", roleName, err)
	}
	return nil
}

func desiredBinding(pki *networkv1.OperatorPKI, account client.ObjectKey) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pki.Namespace, Name: roleName, OwnerReferences: []metav1.OwnerReference{ownerOf(pki)},
			Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy, manifest.LabelComponent: component},
		},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roleName},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
}
