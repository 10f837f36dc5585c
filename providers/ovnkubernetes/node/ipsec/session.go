package ipsec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/strongswan/govici/vici"
)

// maxListed is the maximum number of associations that charon lists: more than one for each node of the largest cluster.
const maxListed = 1 << 14

// session is a connection to charon. It ends with the process of charon.
type session struct {
	*vici.Session
	// listed receives the associations that charon lists. A streaming call of govici 0.8 can lose those that arrive together with the end of the list.
	listed chan vici.Event
}

func dial(socket string) (session, error) {
	s, err := vici.NewSession(vici.WithAddr("unix", socket))
	if err != nil {
		return session{}, fmt.Errorf("connect to charon: %w", err)
	}
	return session{Session: s}, nil
}

// subscribeList prepares a session for associations.
func (s *session) subscribeList() error {
	if err := s.Subscribe("list-sa"); err != nil {
		return fmt.Errorf("charon: %w", err)
	}
	s.listed = make(chan vici.Event, maxListed)
	s.NotifyEvents(s.listed)
	return nil
}

// call executes a command. argument is marshalled; it may be nil.
func (s session) call(ctx context.Context, command string, argument any) (*vici.Message, error) {
	var in *vici.Message
	if argument != nil {
		var err error
		if in, err = vici.MarshalMessage(argument); err != nil {
			return nil, fmt.Errorf("charon, %s: %w", command, err)
		}
	}
	out, err := s.Call(ctx, command, in)
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("charon, %s: %w", command, err)
	}
	return out, nil
}

// loadCredentials replaces the key (PEM) and the CAs (DER). Existing associations are not affected.
func (s session) loadCredentials(ctx context.Context, key string, authorities []string) error {
	if _, err := s.call(ctx, "clear-creds", nil); err != nil {
		return err
	}
	if _, err := s.call(ctx, "load-key", map[string]any{"type": "any", "data": key}); err != nil {
		return err
	}
	for _, a := range authorities {
		if _, err := s.call(ctx, "load-cert", map[string]any{"type": "X509", "flag": "CA", "data": a}); err != nil {
			return err
		}
	}
	return nil
}

func (s session) load(ctx context.Context, name string, c Connection) error {
	_, err := s.call(ctx, "load-conn", map[string]any{name: c})
	return err
}

// unload removes a connection and its keys.
func (s session) unload(ctx context.Context, name string) error {
	_, err := s.call(ctx, "unload-conn", map[string]any{"name": name})
	return errors.Join(err, s.terminate(ctx, name))
}

// terminate removes the keys of a connection. Missing keys are not an error.
func (s session) terminate(ctx context.Context, name string) error {
	return s.end(ctx, map[string]any{"ike": name})
}

// terminateOne removes one association of a connection. A missing association is not an error.
func (s session) terminateOne(ctx context.Context, id uint32) error {
	return s.end(ctx, map[string]any{"ike-id": strconv.FormatUint(uint64(id), 10)})
}

func (s session) end(ctx context.Context, which map[string]any) error {
	which["timeout"] = "-1"
	_, err := s.call(ctx, "terminate", which)
	if err != nil && strings.Contains(err.Error(), "no matching SAs") {
		return nil
	}
	return err
}

// initiate initiates a child of a connection without waiting for it.
func (s session) initiate(ctx context.Context, name, child string) error {
	_, err := s.call(ctx, "initiate", map[string]any{"ike": name, "child": child, "timeout": "-1", "init-limits": "no"})
	return err
}

// loaded returns the names of charon's connections.
func (s session) loaded(ctx context.Context) ([]string, error) {
	out, err := s.call(ctx, "get-conns", nil)
	if err != nil {
		return nil, err
	}
	names, _ := out.Get("conns").([]string)
	return names, nil
}

type childSA struct {
	Name  string `vici:"name"`
	State string `vici:"state"`
	// Idle is the time in seconds since the last sent packet; empty if none was sent.
	Idle string `vici:"use-out"`
}

// associations returns charon's associations. All listed ones have arrived when the command ends.
func (s session) associations(ctx context.Context) ([]Association, error) {
	if _, err := s.call(ctx, "list-sas", nil); err != nil {
		return nil, err
	}
	var out []Association
	for range len(s.listed) {
		event, open := <-s.listed
		if !open {
			return nil, errors.New("charon, list-sas: the connection has ended")
		}
		for _, name := range event.Message.Keys() {
			section, ok := event.Message.Get(name).(*vici.Message)
			if !ok {
				continue
			}
			a, err := association(name, section)
			if err != nil {
				return nil, err
			}
			out = append(out, a)
		}
	}
	return out, nil
}

func association(name string, section *vici.Message) (Association, error) {
	a := Association{Connection: name, Idle: neverSent}
	state, _ := section.Get("state").(string)
	number, _ := section.Get("uniqueid").(string)
	id, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return a, fmt.Errorf("charon, list-sas: the number of an association: %w", err)
	}
	a.ID = uint32(id)
	a.Established = state == "ESTABLISHED" || state == "REKEYING"
	children, ok := section.Get("child-sas").(*vici.Message)
	if !ok {
		return a, nil
	}
	for _, key := range children.Keys() {
		var c childSA
		one, ok := children.Get(key).(*vici.Message)
		if !ok {
			continue
		}
		if err := vici.UnmarshalMessage(one, &c); err != nil {
			return a, fmt.Errorf("charon, list-sas: %w", err)
		}
		if c.State == "INSTALLED" || c.State == "REKEYING" || c.State == "REKEYED" {
			a.Children = append(a.Children, c.Name)
			if idle, err := strconv.ParseUint(c.Idle, 10, 32); err == nil {
				a.Idle = min(a.Idle, uint32(idle))
			}
		}
	}
	slices.Sort(a.Children)
	a.Children = slices.Compact(a.Children)
	return a, nil
}
