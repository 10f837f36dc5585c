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

// Access manages users and permissions of an etcd. Each user has one role of the same name and no password; the user name is the common name of a
// certificate.
type Access interface {
	// AuthEnabled reports whether etcd checks permissions.
	AuthEnabled(ctx context.Context) (bool, error)
	// EnableAuth creates the root user, removes all users except agents, and enables the check of permissions.
	EnableAuth(ctx context.Context, agent func(user string) bool) error
	// Users returns all users.
	Users(ctx context.Context) ([]string, error)
	// Grant creates or updates a user with exactly the given permissions.
	Grant(ctx context.Context, user string, permissions []etcdcluster.Permission) error
	// ReplacePassword sets a random password for a user with a password, and ends its sessions.
	ReplacePassword(ctx context.Context, user string) error
	// GrantRoot creates a user with all permissions.
	GrantRoot(ctx context.Context, user string) error
	// DeleteUser deletes a user and its role. A missing user is no error.
	DeleteUser(ctx context.Context, user string) error
}

func (c *connection) AuthEnabled(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	resp, err := c.client.AuthStatus(ctx)
	if err != nil {
		return false, fmt.Errorf("read the authentication status of etcd: %w", c.explain(err, c.target.Endpoints...))
	}
	return resp.Enabled, nil
}

func (c *connection) EnableAuth(ctx context.Context, agent func(user string) bool) error {
	users, err := c.Users(ctx)
	if err != nil {
		return err
	}
	for _, user := range users {
		if !agent(user) {
			if err := c.DeleteUser(ctx, user); err != nil {
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
		return fmt.Errorf("enable authentication of etcd: %w", err)
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
	// Revoke first, so that a user never has more permissions than before and after.
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

func (c *connection) GrantRoot(ctx context.Context, user string) error {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	return c.ensureUser(ctx, user, etcdcluster.RootUser)
}

// ensureUser creates or updates a user with exactly one role.
func (c *connection) ensureUser(ctx context.Context, user, role string) error {
	if _, err := c.client.RoleAdd(ctx, role); err != nil && !errors.Is(err, rpctypes.ErrRoleAlreadyExist) {
		return fmt.Errorf("add role %s to etcd: %w", role, err)
	}
	_, err := c.client.UserAddWithOptions(ctx, user, "", &clientv3.UserAddOptions{NoPassword: true})
	if err != nil && !errors.Is(err, rpctypes.ErrUserAlreadyExist) {
		return fmt.Errorf("add user %s to etcd: %w", user, err)
	}
	resp, err := c.client.UserGet(ctx, user)
	if err != nil {
		return fmt.Errorf("read user %s of etcd: %w", user, err)
	}
	granted := false
	for _, other := range resp.Roles {
		if other == role {
			granted = true
			continue
		}
		if _, err := c.client.UserRevokeRole(ctx, user, other); err != nil {
			return fmt.Errorf("revoke role %s from user %s of etcd: %w", other, user, err)
		}
	}
	if granted {
		return nil
	}
	if _, err := c.client.UserGrantRole(ctx, user, role); err != nil {
		return fmt.Errorf("grant user %s of etcd the role %s: %w", user, role, err)
	}
	return nil
}

func (c *connection) DeleteUser(ctx context.Context, user string) error {
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

// comparePermissions returns the permissions to add to a role, and those to remove. A range whose type differs is in both.
func comparePermissions(want []etcdcluster.Permission, existing []*authpb.Permission) (add, remove []etcdcluster.Permission) {
	live := map[etcdcluster.Permission]bool{}
	for _, h := range existing {
		p := etcdcluster.Permission{Key: string(h.GetKey()), End: string(h.GetRangeEnd()), Write: h.GetPermType() != authpb.Permission_READ}
		live[p] = true
	}
	role := map[etcdcluster.Permission]bool{}
	for _, w := range want {
		if role[w] = true; !live[w] {
			add = append(add, w)
		}
	}
	for p := range live {
		if !role[p] {
			remove = append(remove, p)
		}
	}
	return add, remove
}
