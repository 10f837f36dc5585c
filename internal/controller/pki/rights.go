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

// roleName is the ClusterRole that allows to get, create and update Secrets and ConfigMaps, and the name of its bindings. The operator may bind
// it, but has it nowhere by itself.
const roleName = "cluster-network-operator-pki"

// errRightsComing says that a right was just given, and takes effect in a moment.
var errRightsComing = errors.New("the right to the Secrets of the namespace takes effect in a moment")

func rightsAreComing(err error) bool { return errors.Is(err, errRightsComing) }

// rights remembers the namespaces whose Secrets the operator may read. Its zero value is ready.
type rights struct {
	mu  sync.Mutex
	may map[string]bool
}

func (r *rights) has(namespace string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.may[namespace]
}

func (r *rights) set(namespace string, may bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.may == nil {
		r.may = map[string]bool{}
	}
	r.may[namespace] = may
}

// ensureRights ensures that the operator may read and write Secrets and ConfigMaps in the namespace of an OperatorPKI. It asks before it reads,
// so that the API server has nothing to refuse.
func (c *Controller) ensureRights(ctx context.Context, pki *networkv1.OperatorPKI) error {
	if c.rights.has(pki.Namespace) {
		return nil
	}
	for _, resource := range []string{"secrets", "configmaps"} {
		for _, verb := range []string{"get", "create", "update"} {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: pki.Namespace, Verb: verb, Resource: resource}}}
			if err := c.Client.Create(ctx, review); err != nil {
				return fmt.Errorf("ask for the right to %s %s: %w", verb, resource, err)
			}
			if !review.Status.Allowed {
				return c.claim(ctx, pki)
			}
		}
	}
	c.rights.set(pki.Namespace, true)
	return nil
}

// claim gives the operator the right to the Secrets of the namespace of an OperatorPKI. The binding is owned by the OperatorPKIs
// of the namespace, and goes with the last of them.
func (c *Controller) claim(ctx context.Context, pki *networkv1.OperatorPKI) error {
	var binding rbacv1.RoleBinding
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: pki.Namespace, Name: roleName}, &binding)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read role binding %s: %w", roleName, err)
	}
	wanted := wantedBinding(pki, c.Account)
	if err != nil {
		if err := c.Client.Create(ctx, wanted, fieldManager); err != nil {
			return fmt.Errorf("create role binding %s: %w", roleName, err)
		}
		c.Log.Info("may read the Secrets of a namespace", "namespace", pki.Namespace)
		return errRightsComing
	}
	if binding.RoleRef == wanted.RoleRef && slices.Equal(binding.Subjects, wanted.Subjects) {
		// The API server learns of a binding a moment after it was made.
		if c.Now().Sub(binding.CreationTimestamp.Time).Abs() < lookAgain {
			return errRightsComing
		}
		return fmt.Errorf("the RoleBinding %s gives no right to the Secrets of the namespace; is the ClusterRole of that name there?", roleName)
	}
	if binding.Labels[manifest.LabelManagedBy] != manifest.ManagedBy {
		return &takenError{"RoleBinding " + roleName}
	}
	uid := binding.UID
	if err := c.Client.Delete(ctx, &binding, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("replace role binding %s: %w", roleName, err)
	}
	return errRightsComing
}

// share makes sure that the binding stays as long as an OperatorPKI needs it.
func (c *Controller) share(ctx context.Context, pki *networkv1.OperatorPKI) error {
	var binding rbacv1.RoleBinding
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: pki.Namespace, Name: roleName}, &binding)
	if apierrors.IsNotFound(err) {
		return nil // the right comes from elsewhere
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

func wantedBinding(pki *networkv1.OperatorPKI, account client.ObjectKey) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pki.Namespace, Name: roleName, OwnerReferences: []metav1.OwnerReference{ownerOf(pki)},
			Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy, manifest.LabelComponent: component},
		},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roleName},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
}
