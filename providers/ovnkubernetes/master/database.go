package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
)

const (
	globalTable = "NB_Global"
	externalIDs = "external_ids"
	// numberKey is the external ID of the row of NB_Global with the number of the last transaction. nb_cfg is used only for transactions whose completion the
	// master must know: each of its values makes every ovn-controller write to the southbound database.
	numberKey = "ovnkube-transaction"
)

// database is the northbound database with a copy of its content.
type database struct {
	session ovsdb.Session
	cache   *ovsdb.Cache
	// connected is fired after each new connection, foreign after a change of rows by a third party.
	connected, foreign agent.Trigger
	connections        atomic.Int64

	// writing is held during a transaction, so that numbers are in order. number is the last one.
	writing sync.Mutex
	number  int

	mu sync.Mutex
	// changed is closed and replaced when the content changes.
	changed chan struct{}
}

func newDatabase(socket string, lost func(), log *slog.Logger) *database {
	d := &database{connected: agent.NewTrigger(), foreign: agent.NewTrigger(), changed: make(chan struct{}),
		number: int(time.Now().UnixMilli())} // larger than those of earlier instances
	columns := northbound.Tables()
	columns[globalTable] = []string{"sb_cfg", externalIDs}
	d.cache = ovsdb.NewCache(northbound.Database, columns, d.note)
	d.session = ovsdb.Session{
		Endpoints: []ovsdb.Endpoint{ovsdb.Unix(socket)}, Database: northbound.Database, Options: ovsdb.Options{MaxBackoff: ovsdb.LocalMaxBackoff},
		Serve: func(ctx context.Context, client *ovsdb.Client) error {
			d.connections.Add(1)
			d.connected.Fire()
			defer lost()
			return d.cache.Watch(ctx, client)
		},
		Report: func(_ ovsdb.Endpoint, err error) { log.Warn("northbound database", "error", err) },
	}
	return d
}

// note processes the changes of one transaction. Transactions of this package have a new number, and ovn-northd changes none of the watched rows: all other
// changes are those of a third party.
func (d *database) note(all []ovsdb.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.changed)
	d.changed = make(chan struct{})
	numbered := func(c ovsdb.Change) bool { return c.Table == globalTable && numberOf(c.Old) != numberOf(c.New) }
	rows := func(c ovsdb.Change) bool { return c.Table != globalTable }
	if slices.ContainsFunc(all, rows) && !slices.ContainsFunc(all, numbered) {
		d.foreign.Fire()
	}
}

// await waits until the row of NB_Global satisfies a condition.
func (d *database) await(ctx context.Context, satisfied func(ovsdb.UUID, ovsdb.Row) bool) error {
	for {
		d.mu.Lock()
		changed := d.changed
		d.mu.Unlock()
		for id, row := range d.cache.Snapshot().Rows(globalTable) {
			if satisfied(id, row) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// numberOf returns the number of the last transaction, 0 without one.
func numberOf(global ovsdb.Row) int {
	n, err := strconv.Atoi(global.Map(externalIDs)[numberKey])
	if err != nil {
		return 0
	}
	return n
}

// mark is a position in the sequence of transactions.
type mark struct {
	id ovsdb.UUID
	// number is that of the transaction. cfg is the last nb_cfg.
	number, cfg int
}

// transact executes operations in one transaction.
func (d *database) transact(ctx context.Context, operations []ovsdb.Operation) ([]ovsdb.Result, mark, error) {
	client, err := d.session.Client(ctx)
	if err != nil {
		return nil, mark{}, err
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	d.number++
	results, err := client.Transact(ctx, northbound.Database, append(operations,
		ovsdb.Mutate(globalTable, externalIDs, "delete", ovsdb.Set{numberKey}), // insert does not replace values
		ovsdb.Mutate(globalTable, externalIDs, "insert", ovsdb.Map{numberKey: strconv.Itoa(d.number)}),
		ovsdb.Select(globalTable, []string{"_uuid", "nb_cfg"}))...)
	if err != nil {
		return nil, mark{}, err
	}
	rows := results[len(results)-1].Rows
	if len(rows) != 1 {
		return nil, mark{}, errors.New("the northbound database has no row of NB_Global")
	}
	return results, mark{rows[0].UUID("_uuid"), d.number, rows[0].Int("nb_cfg")}, nil
}

// begin prepares a new connection: it writes the options of the database, and waits until the copy has all earlier writes.
func (d *database) begin(ctx context.Context) (ovsdb.Schema, error) {
	client, err := d.session.Client(ctx)
	if err != nil {
		return ovsdb.Schema{}, err
	}
	schema, err := client.Schema(ctx, northbound.Database)
	if err != nil {
		return ovsdb.Schema{}, fmt.Errorf("read the schema of the northbound database: %w", err)
	}
	results, err := client.Transact(ctx, northbound.Database, ovsdb.Select(globalTable, []string{"_uuid"}))
	if err != nil {
		return ovsdb.Schema{}, fmt.Errorf("read the northbound database: %w", err)
	}
	_, at, err := d.transact(ctx, northbound.Global(len(results[0].Rows) > 0))
	if err != nil {
		return ovsdb.Schema{}, fmt.Errorf("write the options of the northbound database: %w", err)
	}
	return schema, d.seen(ctx, at)
}

// seen waits until the copy has all writes up to a mark.
func (d *database) seen(ctx context.Context, at mark) error {
	return d.await(ctx, func(id ovsdb.UUID, row ovsdb.Row) bool { return id == at.id && numberOf(row) >= at.number })
}

// realized waits until ovn-northd has written everything up to a mark to the southbound database.
func (d *database) realized(ctx context.Context, at mark) error {
	return d.await(ctx, func(id ovsdb.UUID, row ovsdb.Row) bool { return id == at.id && row.Int("sb_cfg") >= at.cfg })
}
