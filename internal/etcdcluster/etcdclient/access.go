package etcdclient

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// Access changes who may do what in an etcd. Each user has one role of the same name, and no password: it is the common
// name of a certificate.
type Access interface {
	// Enforced reports whether etcd checks permissions.
	Enforced(ctx context.Context) (bool, error)
	// Enforce creates the root user, removes all users but agents, and has etcd check permissions from now on.
	Enforce(ctx context.Context, agent func(user string) bool) error
	// Users returns all users.
	Users(ctx context.Context) ([]string, error)
	// Grant creates a user that may do exactly what the permissions allow.
	Grant(ctx context.Context, user string, permissions []etcdcluster.Permission) error
	// ReplacePassword replaces the password of a user that has one by a random one, and ends its sessions.
	ReplacePassword(ctx context.Context, user string) error
	// Administer creates a user that may do everything.
	Administer(ctx context.Context, user string) error
	// Expel removes a user and its role. It is no error if there is none.
	Expel(ctx context.Context, user string) error
}

func (c *connection) Enforced(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	resp, err := c.client.AuthStatus(ctx)
	if err != nil {
		return false, fmt.Errorf("read whether etcd checks permissions: %w", c.explain(err, c.target.Endpoints...))
	}
	return resp.Enabled, nil
}

func (c *connection) Enforce(ctx context.Context, agent func(user string) bool) error {
	users, err := c.Users(ctx)
	if err != nil {
		return err
	}
	for _, user := range users {
		if !agent(user) {
			if err := c.Expel(ctx, user); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	if err := c.ensureUser(ctx, etcdcluster.RootUser, etcdcluster.RootUser); err != nil {
		return err
	}
	if _, err := c.client.AuthEnable(ctx); err != nil {
		return fmt.Errorf("have etcd check permissions: %w", err)
	}
	return nil
}

func (c *connection) ReplacePassword(ctx context.Context, user string) error {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	if _, err := c.client.UserChangePassword(ctx, user, rand.Text()); err != nil && !errors.Is(err, rpctypes.ErrUserNotFound) {
		return fmt.Errorf("replace the password of user %s of etcd: %w", user, err)
	}
	return nil
}

func (c *connection) Users(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	resp, err := c.client.UserList(ctx)
	if err != nil {
		return nil, fmt.Errorf("list users of etcd: %w", c.explain(err, c.target.Endpoints...))
	}
	return resp.Users, nil
}

func (c *connection) Grant(ctx context.Context, user string, permissions []etcdcluster.Permission) error {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	if _, err := c.client.RoleAdd(ctx, user); err != nil && !errors.Is(err, rpctypes.ErrRoleAlreadyExist) {
		return fmt.Errorf("add role %s to etcd: %w", user, err)
	}
	resp, err := c.client.RoleGet(ctx, user)
	if err != nil {
		return fmt.Errorf("read role %s of etcd: %w", user, err)
	}
	add, remove := comparePermissions(permissions, resp.Perm)
	// What a user may no longer write is removed first.
	for _, p := range remove {
		if _, err := c.client.RoleRevokePermission(ctx, user, p.Key, p.End); err != nil {
			return fmt.Errorf("revoke %s from role %s of etcd: %w", p.Key, user, err)
		}
	}
	for _, p := range add {
		kind := clientv3.PermissionType(clientv3.PermRead)
		if p.Write {
			kind = clientv3.PermissionType(clientv3.PermReadWrite)
		}
		if _, err := c.client.RoleGrantPermission(ctx, user, p.Key, p.End, kind); err != nil {
			return fmt.Errorf("grant %s to role %s of etcd: %w", p.Key, user, err)
		}
	}
	return c.ensureUser(ctx, user, user)
}

func (c *connection) Administer(ctx context.Context, user string) error {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	return c.ensureUser(ctx, user, etcdcluster.RootUser)
}

// ensureUser creates a user with one role, and no other.
func (c *connection) ensureUser(ctx context.Context, user, wanted string) error {
	if _, err := c.client.RoleAdd(ctx, wanted); err != nil && !errors.Is(err, rpctypes.ErrRoleAlreadyExist) {
		return fmt.Errorf("add role %s to etcd: %w", wanted, err)
	}
	_, err := c.client.UserAddWithOptions(ctx, user, "", &clientv3.UserAddOptions{NoPassword: true})
	if err != nil && !errors.Is(err, rpctypes.ErrUserAlreadyExist) {
		return fmt.Errorf("add user %s to etcd: %w", user, err)
	}
	resp, err := c.client.UserGet(ctx, user)
	if err != nil {
		return fmt.Errorf("read user %s of etcd: %w", user, err)
	}
	has := false
	for _, role := range resp.Roles {
		if role == wanted {
			has = true
			continue
		}
		if _, err := c.client.UserRevokeRole(ctx, user, role); err != nil {
			return fmt.Errorf("revoke role %s from user %s of etcd: %w", role, user, err)
		}
	}
	if has {
		return nil
	}
	if _, err := c.client.UserGrantRole(ctx, user, wanted); err != nil {
		return fmt.Errorf("grant user %s of etcd the role %s: %w", user, wanted, err)
	}
	return nil
}

func (c *connection) Expel(ctx context.Context, user string) error {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	if _, err := c.client.UserDelete(ctx, user); err != nil && !errors.Is(err, rpctypes.ErrUserNotFound) {
		return fmt.Errorf("delete user %s of etcd: %w", user, err)
	}
	if _, err := c.client.RoleDelete(ctx, user); err != nil && !errors.Is(err, rpctypes.ErrRoleNotFound) {
		return fmt.Errorf("delete role %s of etcd: %w", user, err)
	}
	return nil
}

// comparePermissions returns the permissions that a role lacks, and those that it must lose. A range whose type differs is in both.
func comparePermissions(want []etcdcluster.Permission, have []*authpb.Permission) (add, remove []etcdcluster.Permission) {
	live := map[etcdcluster.Permission]bool{}
	for _, h := range have {
		p := etcdcluster.Permission{Key: string(h.GetKey()), End: string(h.GetRangeEnd()), Write: h.GetPermType() != authpb.Permission_READ}
		live[p] = true
	}
	wanted := map[etcdcluster.Permission]bool{}
	for _, w := range want {
		if wanted[w] = true; !live[w] {
			add = append(add, w)
		}
	}
	for p := range live {
		if !wanted[p] {
			remove = append(remove, p)
		}
	}
	return add, remove
}
