package controller

import (
	"context"
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// grantsAtOnce is how many nodes get their permissions in one reconcile: each takes some requests to etcd.
const grantsAtOnce = 100

// granted is what the controller has changed in etcd over the open connection, so that a reconcile in which nothing
// changes writes nothing: the permissions of a node by its name, and administrators and users by keys of their own.
type granted map[string]string

// access restricts every node to its own keys: it keeps a user for each, removes all others, and has etcd check
// permissions as soon as every agent presents a certificate of its own.
func (p *pass) access(ctx context.Context, s store) error {
	if p.in.settings.Managed == nil {
		return nil
	}
	enforced, err := p.etcd.Enforced(ctx)
	if err != nil {
		p.unreachable(err)
		return nil
	}
	left, err := p.grant(ctx, s, enforced)
	if err != nil {
		p.unreachable(err)
		return nil
	}
	if enforced {
		if err = p.removeUnknownUsers(ctx, s); err == nil {
			err = p.administer(ctx)
		}
		if err == nil && !left && !p.in.members.UsersChecked {
			left, err = p.replacePasswords(ctx)
		}
		if err != nil {
			p.unreachable(err)
			return nil
		}
		if left {
			return nil
		}
		return p.noteIdentity(ctx)
	}
	without := withoutCertificate(s, p.in.nodes)
	if len(without) > 0 && !p.in.members.NodeIdentity {
		p.findings = append(p.findings, finding(status.Progressing, "NodeCertificates",
			sentence(without, "etcd checks which node writes what as soon as every agent presents its own certificate; the log of flanneld on these nodes has the cause")))
		return nil
	}
	if left || len(s.agents) == 0 {
		return nil
	}
	if p.in.members.UsersChecked {
		// This etcd has lost its data, and its users with it.
		next := p.in.members
		next.UsersChecked = false
		return p.save(ctx, next, "etcd does not check permissions")
	}
	if err := p.etcd.Enforce(ctx); err != nil {
		p.unreachable(err)
		return nil
	}
	p.deps.Log.Info("etcd checks which node writes what", "nodes", len(p.granted))
	p.soonest(soon)
	return nil
}

// grant gives nodes the permissions that their reservations call for. left is true if there are more to be given. Once
// etcd checks permissions, all are compared again: before, every client could change them.
func (p *pass) grant(ctx context.Context, s store, enforced bool) (left bool, err error) {
	if p.granted == nil {
		p.granted = granted{}
	}
	done := 0
	for _, name := range sorted(p.in.nodes) {
		r := s.reservations[name]
		permissions := record.NodePermissions(s.prefix, name, r.Subnet, r.IPv6Subnet)
		want := fmt.Sprint(enforced, permissions)
		if p.granted[name] == want {
			continue
		}
		if done == grantsAtOnce {
			p.soonest(soon)
			return true, nil
		}
		done++
		if err := p.etcd.Grant(ctx, record.NodeUser(name), permissions); err != nil {
			return true, err
		}
		p.granted[name] = want
	}
	return false, nil
}

// removeUnknownUsers removes users that belong neither to the operator nor to a member nor to a node. The user of a deleted
// node is removed after its reservation.
func (p *pass) removeUnknownUsers(ctx context.Context, s store) error {
	users, err := p.etcd.Users(ctx)
	if err != nil {
		return err
	}
	for _, user := range users {
		node, isNode := record.UserNode(user)
		_, exists := p.in.nodes[node]
		_, reserved := s.reservations[node]
		member := slices.ContainsFunc(p.in.members.Members, func(m record.Member) bool { return m.Name == user })
		if isNode && (exists || reserved) || member || user == record.RootUser {
			continue
		}
		delete(p.granted, administratorKey(user))
		delete(p.granted, node)
		if err := p.etcd.Expel(ctx, user); err != nil {
			return err
		}
		p.deps.Log.Warn("removed a user of etcd", "user", user)
	}
	return nil
}

// administratorKey is the key in granted of a member that is an administrator.
func administratorKey(member string) string { return "administrator:" + member }

// administer lets members change what belongs to the cluster, so that a person can repair it from their pods. They hold
// all of its data anyway.
func (p *pass) administer(ctx context.Context) error {
	for _, m := range p.in.members.Members {
		if !m.Runs() || p.granted[administratorKey(m.Name)] == record.RootUser {
			continue
		}
		if err := p.etcd.Administer(ctx, m.Name); err != nil {
			return err
		}
		p.granted[administratorKey(m.Name)] = record.RootUser
	}
	return nil
}

// replacePasswords gives every user a random password unless it has none, since a client may have created the user with a
// password before etcd checked permissions. Users that the operator creates have none: a certificate is their
// only proof. left is true if there are more users.
func (p *pass) replacePasswords(ctx context.Context) (left bool, err error) {
	users, err := p.etcd.Users(ctx)
	if err != nil {
		return true, err
	}
	done := 0
	for _, user := range users {
		key := "password:" + user
		if p.granted[key] != "" {
			continue
		}
		if done == grantsAtOnce {
			p.soonest(soon)
			return true, nil
		}
		done++
		if err := p.etcd.ReplacePassword(ctx, user); err != nil {
			return true, err
		}
		p.granted[key] = "replaced"
	}
	return false, nil
}

// noteIdentity records that etcd checks permissions and that no other client has prepared a user: the certificate
// that agents shared is of no use from now on.
func (p *pass) noteIdentity(ctx context.Context) error {
	if p.in.members.NodeIdentity && p.in.members.UsersChecked {
		return nil
	}
	next := p.in.members
	next.NodeIdentity, next.UsersChecked = true, true
	return p.save(ctx, next, "every node has its own identity in etcd")
}

// withoutCertificate names the nodes that are Ready and whose agents present no certificate of their own, in
// sentences. Nodes that are not Ready are not waited for: their agents get one when they start again. Nodes that etcd
// has nothing of run no agent.
func withoutCertificate(s store, nodes map[string]node) []string {
	var out []string
	for _, name := range sorted(nodes) {
		a, reports := s.agents[name]
		_, reserved := s.reservations[name]
		if nodes[name].ready && (reports || reserved) && !a.OwnCertificate {
			out = append(out, fmt.Sprintf("node %s does not present its own certificate to etcd", name))
		}
	}
	return out
}
