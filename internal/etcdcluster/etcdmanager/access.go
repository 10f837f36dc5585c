package etcdmanager

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/status"
)

// grantsAtOnce is how many nodes get their permissions in one reconcile: each takes some requests to etcd.
const grantsAtOnce = 100

// granted is what the controller has changed in etcd over the open connection, so that a reconcile in which nothing
// changes writes nothing: the permissions of a node by its name, and administrators and users by keys of their own.
type granted map[string]string

// Agents are what a network knows of its agents on the nodes, for Access.
type Agents struct {
	// Permissions returns what the agent on a node may do.
	Permissions func(node string) []etcdcluster.Permission
	// Kept reports whether the user of a node that does not exist stays: as long as the network keeps something for it.
	Kept func(node string) bool
	// Report is true if any agent has reported that it works.
	Report bool
	// WithoutCertificate says in a sentence each which agents do not present a certificate of their own. Permissions are not checked
	// before there are none.
	WithoutCertificate []string
	// Cause is where the cause is found, as in "the log of flanneld on these nodes has the cause".
	Cause string
}

// Access restricts every node to its own keys in a managed etcd: it keeps a user for each, removes all others, and has etcd check
// permissions as soon as every agent presents a certificate of its own. It does nothing for an etcd that is not managed.
func (r *Run) Access(ctx context.Context, agents Agents) error {
	if r.Settings.Managed == nil {
		return nil
	}
	enforced, err := r.Etcd.Enforced(ctx)
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
			err = r.administer(ctx)
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
		return r.noteIdentity(ctx)
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
		// This etcd has lost its data, and its users with it.
		next := r.Members
		next.UsersChecked = false
		return r.save(ctx, next, "etcd does not check permissions")
	}
	if err := r.Etcd.Enforce(ctx, func(user string) bool { _, ok := r.cluster.UserNode(user); return ok }); err != nil {
		r.Unreachable(err)
		return nil
	}
	r.deps.Log.Info("etcd checks which node writes what", "nodes", len(r.granted))
	r.Soonest(Soon)
	return nil
}

// grant gives nodes their permissions. left is true if there are more to be given. Once
// etcd checks permissions, all are compared again: before, every client could change them.
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
		if done == grantsAtOnce {
			r.Soonest(Soon)
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

// removeUnknownUsers removes users that belong neither to the operator nor to a member nor to a node. The user of a deleted
// node is removed after its reservation.
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
		if err := r.Etcd.Expel(ctx, user); err != nil {
			return err
		}
		r.deps.Log.Warn("removed a user of etcd", "user", user)
	}
	return nil
}

// administratorKey is the key in granted of a member that is an administrator.
func administratorKey(member string) string { return "administrator:" + member }

// administer lets members change what belongs to the cluster, so that a person can repair it from their pods. They hold
// all of its data anyway.
func (r *Run) administer(ctx context.Context) error {
	for _, m := range r.Members.Members {
		if !m.Runs() || r.granted[administratorKey(m.Name)] == etcdcluster.RootUser {
			continue
		}
		if err := r.Etcd.Administer(ctx, m.Name); err != nil {
			return err
		}
		r.granted[administratorKey(m.Name)] = etcdcluster.RootUser
	}
	return nil
}

// replacePasswords gives every user a random password unless it has none, since a client may have created the user with a
// password before etcd checked permissions. Users that the operator creates have none: a certificate is their
// only proof. left is true if there are more users.
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
		if done == grantsAtOnce {
			r.Soonest(Soon)
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

// noteIdentity records that etcd checks permissions and that no other client has prepared a user: the certificate
// that agents shared is of no use from now on.
func (r *Run) noteIdentity(ctx context.Context) error {
	if r.Members.NodeIdentity && r.Members.UsersChecked {
		return nil
	}
	next := r.Members
	next.NodeIdentity, next.UsersChecked = true, true
	return r.save(ctx, next, "every node has its own identity in etcd")
}
