package etcdmanager

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/status"
)

// maxGrants is the maximum number of nodes whose permissions one reconcile sets, since each node needs several requests to etcd.
const maxGrants = 100

// granted caches the changes in etcd over the current connection, so that a reconcile without changes writes nothing: permissions by the name of the node,
// and administrators and passwords by other keys.
type granted map[string]string

// Agents has the state of a network's agents on nodes, for Access.
type Agents struct {
	// Permissions returns the permissions of the agent on a node.
	Permissions func(node string) []etcdcluster.Permission
	// Kept reports whether the user of a deleted node is kept, because the network still has data of the node.
	Kept func(node string) bool
	// Report is true if at least one agent has reported.
	Report bool
	// WithoutCertificate has a message for each agent that does not present its own certificate. Permissions are not checked until it is empty.
	WithoutCertificate []string
	// Cause names where to find the cause, as in "the log of flanneld on these nodes has the cause".
	Cause string
}

// Access restricts each node to its own keys in a managed etcd: it manages a user for each node, removes all other users, and enables the check of
// permissions when all agents present their own certificates. It does nothing for an external etcd.
func (r *Run) Access(ctx context.Context, agents Agents) error {
	if r.Settings.Managed == nil {
		return nil
	}
	enforced, err := r.Etcd.AuthEnabled(ctx)
	if err != nil {
		r.Unreachable(err)
		return nil
	}
	left, err := r.grant(ctx, agents, enforced)
	if err != nil {
		r.Unreachable(err)
		return nil
	}
	if enforced {
		if err = r.removeUnknownUsers(ctx, agents); err == nil {
			err = r.grantRoot(ctx)
		}
		if err == nil && !left && !r.Members.UsersChecked {
			left, err = r.replacePasswords(ctx)
		}
		if err != nil {
			r.Unreachable(err)
			return nil
		}
		if left {
			return nil
		}
		return r.recordIdentity(ctx)
	}
	if len(agents.WithoutCertificate) > 0 && !r.Members.NodeIdentity {
		r.Findings = append(r.Findings, r.Finding(status.Progressing, "NodeCertificates",
			status.Sentence(agents.WithoutCertificate, "etcd checks which node writes what as soon as every agent presents its own certificate; "+agents.Cause)))
		return nil
	}
	if left || !agents.Report {
		return nil
	}
	if r.Members.UsersChecked {
		// This etcd has lost its data, including its users.
		next := r.Members
		next.UsersChecked = false
		return r.save(ctx, next, "etcd does not check permissions")
	}
	if err := r.Etcd.EnableAuth(ctx, func(user string) bool { _, ok := r.cluster.UserNode(user); return ok }); err != nil {
		r.Unreachable(err)
		return nil
	}
	r.deps.Log.Info("etcd checks which node writes what", "nodes", len(r.granted))
	r.Requeue(Soon)
	return nil
}

// grant sets the permissions of nodes. left is true if more nodes remain. When etcd begins to check permissions, all are compared again, because any
// client could change them before.
func (r *Run) grant(ctx context.Context, agents Agents, enforced bool) (left bool, err error) {
	if r.granted == nil {
		r.granted = granted{}
	}
	done := 0
	for _, name := range slices.Sorted(maps.Keys(r.Nodes)) {
		permissions := agents.Permissions(name)
		want := fmt.Sprint(enforced, permissions)
		if r.granted[name] == want {
			continue
		}
		if done == maxGrants {
			r.Requeue(Soon)
			return true, nil
		}
		done++
		if err := r.Etcd.Grant(ctx, r.cluster.NodeUser(name), permissions); err != nil {
			return true, err
		}
		r.granted[name] = want
	}
	return false, nil
}

// removeUnknownUsers deletes users that belong neither to the operator nor to a member nor to a node. The user of a deleted node is kept as long as
// Agents.Kept requires.
func (r *Run) removeUnknownUsers(ctx context.Context, agents Agents) error {
	users, err := r.Etcd.Users(ctx)
	if err != nil {
		return err
	}
	for _, user := range users {
		node, isNode := r.cluster.UserNode(user)
		_, exists := r.Nodes[node]
		member := slices.ContainsFunc(r.Members.Members, func(m etcdcluster.Member) bool { return m.Name == user })
		if isNode && (exists || agents.Kept(node)) || member || user == etcdcluster.RootUser {
			continue
		}
		delete(r.granted, administratorKey(user))
		delete(r.granted, node)
		if err := r.Etcd.DeleteUser(ctx, user); err != nil {
			return err
		}
		r.deps.Log.Warn("removed a user of etcd", "user", user)
	}
	return nil
}

// administratorKey returns the key in granted of a member's user with the role root.
func administratorKey(member string) string { return "administrator:" + member }

// grantRoot grants the role root to the users of members, so that an administrator can repair the cluster from their pods. Members have all data anyway.
func (r *Run) grantRoot(ctx context.Context) error {
	for _, m := range r.Members.Members {
		if !m.Runs() || r.granted[administratorKey(m.Name)] == etcdcluster.RootUser {
			continue
		}
		if err := r.Etcd.GrantRoot(ctx, m.Name); err != nil {
			return err
		}
		r.granted[administratorKey(m.Name)] = etcdcluster.RootUser
	}
	return nil
}

// replacePasswords replaces the passwords of all users by random ones, since a client may have created users with a password before etcd checked
// permissions. Users of the operator have no password and authenticate only with a certificate. left is true if more users remain.
func (r *Run) replacePasswords(ctx context.Context) (left bool, err error) {
	users, err := r.Etcd.Users(ctx)
	if err != nil {
		return true, err
	}
	done := 0
	for _, user := range users {
		key := "password:" + user
		if r.granted[key] != "" {
			continue
		}
		if done == maxGrants {
			r.Requeue(Soon)
			return true, nil
		}
		done++
		if err := r.Etcd.ReplacePassword(ctx, user); err != nil {
			return true, err
		}
		r.granted[key] = "replaced"
	}
	return false, nil
}

// recordIdentity records that etcd checks permissions and that all users are checked. The shared certificate of agents is no longer used then.
func (r *Run) recordIdentity(ctx context.Context) error {
	if r.Members.NodeIdentity && r.Members.UsersChecked {
		return nil
	}
	next := r.Members
	next.NodeIdentity, next.UsersChecked = true, true
	return r.save(ctx, next, "every node has its own identity in etcd")
}
