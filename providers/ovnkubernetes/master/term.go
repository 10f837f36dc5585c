package master

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
)

const (
	// debounce is how long the master waits for further changes before it writes rows.
	debounce = 2 * time.Millisecond
	// foreignDebounce is the delay of a full comparison after a change by a third party. verifyInterval is the interval of full comparisons without such a
	// change.
	foreignDebounce = time.Second
	verifyInterval  = 5 * time.Minute
	// rateLimitInterval is how often RateLimit is called without a change of objects.
	rateLimitInterval = 10 * time.Second
	// writeTimeout is the timeout of a write, including the wait for a connection.
	writeTimeout = time.Minute
)

// Topics of problems.
const (
	topicRows       agent.Topic = "northbound"
	topicNodes      agent.Topic = "southbound"
	topicAPI        agent.Topic = "annotations"
	topicBlocks     agent.Topic = "blocks"
	topicPolicies   agent.Topic = "policies"
	topicMessages   agent.Topic = "policy-audit"
	eventsComponent             = "ovnkube-master"
)

// status is the board's status in addition to problems.
type status struct {
	// Leader is true while this instance holds the Lease. Written is true while the northbound database has all rows. Rows is their number.
	Leader, Written bool
	Rows            int
}

// term is the work of one instance while it holds the Lease.
type term struct {
	Config
	board      *agent.Board[status]
	metrics    *metrics
	beat       *agent.Beat
	client     kubernetes.Interface
	changes    *changes
	objects    *objects
	cluster    *cluster
	database   *database
	southbound *southbound
	annotator  *annotator
	// reopen is fired when nodes changed or the southbound database was closed.
	reopen agent.Trigger
	// written is true while the northbound database of the current connection has all rows.
	written *agent.Cell[bool]

	ledger   *ovsdb.Ledger
	at       mark
	replace  bool // the next reconcile compares all rows
	verified time.Time
	pending  []pendingAnnotation
	since    map[key]time.Time // changes that have not been written yet
	known    map[string]netip.Addr
}

type pendingAnnotation struct {
	key
	annotation
}

func newTerm(c Config, board *agent.Board[status], m *metrics, beat *agent.Beat, client kubernetes.Interface, s *southbound) (*term, error) {
	t := &term{
		Config: c, board: board, metrics: m, beat: beat, client: client, southbound: s, reopen: agent.NewTrigger(), written: agent.NewCell(false),
		changes: &changes{keys: map[key]time.Time{}, wake: agent.NewTrigger()}, since: map[key]time.Time{},
	}
	var err error
	if t.objects, err = newObjects(client, t.changes); err != nil {
		return nil, err
	}
	t.cluster = newCluster(c.Pools, t.objects)
	t.cluster.annotate = func(k key, a annotation) { t.pending = append(t.pending, pendingAnnotation{k, a}) }
	t.cluster.requeue = t.changes.add
	t.annotator = newAnnotator(client, c.Log, func(err error) { board.Note(topicAPI, err) })
	t.database = newDatabase(c.NorthboundSocket, t.lost, c.Log)
	m.connections(t.database)
	return t, nil
}

// lost handles the loss of the northbound database: it may return empty, and ovn-northd would then empty the southbound database. Nodes keep their flows while
// they are disconnected.
func (t *term) lost() {
	t.setWritten(false)
	t.southbound.shut()
	t.reopen.Fire()
}

func (t *term) setWritten(written bool) {
	t.written.Update(func(v *bool) bool { changed := *v != written; *v = written; return changed })
	t.board.Update(func(s *status) bool { changed := s.Written != written; s.Written = written; return changed })
}

// run works until the context ends, or until an error that a new term may not have.
func (t *term) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer func() { cancel(); all.Wait(); t.southbound.shut() }()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: t.client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	defer broadcaster.Shutdown()
	recorder := broadcaster.NewRecorder(scheme.Scheme, eventsComponent)
	t.cluster.event = func(object runtime.Object, reason, message string) {
		recorder.Eventf(object, nil, corev1.EventTypeWarning, reason, eventaction.Of("AssignAddresses", message), "%s", phrase.Note(message))
	}
	if err := t.objects.start(ctx); err != nil {
		return err
	}
	all.Go(func() { t.annotator.run(ctx) })
	all.Go(func() { _ = t.database.session.Run(ctx) }) // ends with the context
	all.Go(func() {
		_ = t.southbound.run(ctx, t.complete, t.nodes, t.reopen, func(err error) { t.board.Note(topicNodes, err) })
	})
	t.loop(ctx)
	return nil
}

// loop reconciles after each change. It retries failed writes with back-off.
func (t *term) loop(ctx context.Context) {
	var failures agent.Backoff
	for ctx.Err() == nil {
		select {
		case <-t.database.connected:
			t.replace, t.ledger = true, nil
		default:
		}
		limited, cancel := context.WithTimeout(ctx, writeTimeout)
		err := t.reconcile(limited)
		cancel()
		t.beat.Mark(time.Now())
		if ctx.Err() == nil {
			t.board.Note(topicRows, err)
		}
		if err != nil {
			t.replace = true
			agent.Pause(ctx, max(failures.Next(time.Now()), 100*time.Millisecond), t.database.connected)
			t.ledger = nil
			continue
		}
		t.pause(ctx)
	}
}

// pause waits for a reason to reconcile.
func (t *term) pause(ctx context.Context) {
	timer := time.NewTimer(rateLimitInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-t.changes.wake:
		agent.Pause(ctx, debounce, nil)
	case <-t.database.connected:
		t.replace, t.ledger = true, nil
	case <-t.database.foreign:
		agent.Pause(ctx, foreignDebounce, t.changes.wake) // limits the comparisons caused by a persistent third party to one per second
		t.replace = true
	case <-timer.C:
		t.replace = t.replace || time.Since(t.verified) > verifyInterval
	}
}

// reconcile applies changes to the rows, and writes the rows that differ.
func (t *term) reconcile(ctx context.Context) error {
	taken := t.changes.take()
	keys := t.objects.order(taken)
	for k, at := range taken {
		if _, found := t.since[k]; !found {
			t.since[k] = at
		}
	}
	t.cluster.apply(keys)
	t.updateRateLimit()
	if slices.ContainsFunc(keys, func(k key) bool { return k.kind == nodeKind }) {
		if nodes := t.nodes(); !maps.Equal(t.known, nodes) {
			t.known = nodes
			t.reopen.Fire()
		}
		t.board.Note(topicBlocks, withoutBlocks(t.cluster.withoutBlocks))
	}
	changed, removed := t.cluster.rows.Changes()
	tx, err := t.plan(ctx, changed, removed)
	if err != nil {
		return err
	}
	if len(tx.Operations) > 0 {
		started := time.Now()
		results, at, err := t.database.transact(ctx, tx.Operations)
		if err != nil {
			return fmt.Errorf("write the northbound database: %w", err)
		}
		tx.Commit(results)
		t.at = at
		t.metrics.transaction.Observe(time.Since(started).Seconds())
	} else {
		tx.Commit(nil)
	}
	t.finish(keys)
	return nil
}

// updateRateLimit updates the rate limit of NetworkPolicy messages. It stays unchanged on errors.
func (t *term) updateRateLimit() {
	if t.RateLimit == nil {
		return
	}
	limit, err := t.RateLimit()
	if err == nil {
		t.cluster.rows.SetRateLimit(limit)
	}
	t.board.Note(topicMessages, err)
}

// plan returns the transaction: the changed rows, or the difference of all rows.
func (t *term) plan(ctx context.Context, changed []ovsdb.Desired, removed []ovsdb.Ref) (ovsdb.Transaction, error) {
	if !t.replace && t.ledger != nil {
		return t.ledger.Change(changed, removed)
	}
	if t.ledger == nil {
		schema, err := t.database.begin(ctx)
		if err != nil {
			return ovsdb.Transaction{}, err
		}
		t.ledger = ovsdb.NewLedger(schema, northbound.Owner)
	} else if t.at.number > 0 {
		if err := t.database.seen(ctx, t.at); err != nil {
			return ovsdb.Transaction{}, err
		}
	}
	t.verified = time.Now()
	return t.ledger.Replace(t.cluster.rows.Rows(), t.database.cache.Snapshot())
}

// finish schedules the annotations whose rows have been written.
func (t *term) finish(keys []key) {
	t.replace = false
	for _, a := range t.pending {
		t.annotator.set(a.key, a.annotation)
	}
	t.pending = nil
	for k, at := range t.since {
		t.metrics.latency.WithLabelValues(k.kind.String()).Observe(time.Since(at).Seconds())
	}
	clear(t.since)
	if slices.ContainsFunc(keys, func(k key) bool { return k.kind == policyKind }) {
		t.board.Note(topicPolicies, policyProblems(t.cluster.rows.Problems()))
	}
	rows := t.ledger.Len()
	t.board.Update(func(s *status) bool { changed := s.Rows != rows; s.Rows = rows; return changed })
	t.setWritten(true)
}

// complete waits until the southbound database has everything.
func (t *term) complete(ctx context.Context) error {
	for {
		written, changed := t.written.Get()
		if written {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, at, err := t.database.transact(ctx, []ovsdb.Operation{northbound.Count()})
	if err != nil {
		return err
	}
	return t.database.realized(ctx, at)
}

// nodes returns the tunnel addresses of all nodes.
func (t *term) nodes() map[string]netip.Addr { return tunnelAddresses(t.objects, t.tunnelsIPv6()) }
