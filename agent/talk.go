package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/evenflow/evenflow/agent/wire"
)

// silence is how long the controller may say nothing: it answers each change.
const silence = 30 * time.Second

// talker is one side of a conversation.
type talker struct {
	cfg    Config
	table  *table
	out    *wire.Writer
	wanted func(protocol string, port uint16) bool // nil: it has not been asked yet
	after  int64                                   // the last moment of the controller that was heard
}

// talk holds a conversation until it ends. answered: the controller had said something.
func talk(ctx context.Context, cfg Config, t *table) (answered bool, err error) {
	ctx, end := context.WithCancelCause(ctx)
	body, pipe := io.Pipe()
	defer func() {
		end(nil)
		pipe.Close()
	}()
	a := &talker{cfg: cfg, table: t, out: wire.NewWriter(pipe, nil), wanted: t.wanted}
	greeted := make(chan error, 1)
	go func() { greeted <- a.out.Write(wire.FromAgent{Hello: t.hello()}) }()
	mute := time.AfterFunc(silence, func() { end(fmt.Errorf("the controller has said nothing for %s", silence)) })
	defer mute.Stop()
	answer, err := cfg.Dial(ctx, body)
	if err != nil {
		body.CloseWithError(err) // nobody may have read the greeting
		<-greeted
		return false, cause(ctx, err)
	}
	defer answer.Close()
	if err := <-greeted; err != nil {
		return false, cause(ctx, err)
	}

	lines := make(chan wire.FromController)
	go func() {
		in := wire.NewReader(answer)
		for {
			var line wire.FromController
			err := in.Next(&line)
			if err == nil && line.Error != nil {
				err = line.Error
			}
			if err != nil {
				end(err)
				body.CloseWithError(err) // nobody reads what is being written
				return
			}
			mute.Reset(silence)
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	tick := time.NewTicker(cfg.Interval)
	defer tick.Stop()
	for {
		select {
		case line := <-lines:
			if !answered {
				answered = true
				cfg.Log.WithField("host", cfg.Host).Info("the controller listens")
			}
			err = a.obey(line)
		case <-tick.C:
			err = a.change()
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return answered, cause(ctx, err)
		}
	}
}

// cause is why a conversation has ended, rather than what that has led to.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		err = c
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the controller has hung up")
	}
	return err
}

// obey does what the controller wants.
func (a *talker) obey(line wire.FromController) error {
	switch {
	case line.Dump != nil:
		wanted, err := ports(line.Dump.Ports)
		if err != nil {
			return err
		}
		a.wanted, a.table.wanted, a.after = wanted, wanted, line.Dump.Now
		return a.dump(line.Dump.ID)
	case line.Resume != nil:
		a.after = line.Resume.Now
		a.table.heard(line.Resume.Seq)
		for _, c := range a.table.log {
			if err := a.out.Write(wire.FromAgent{Change: &c}); err != nil {
				return err
			}
		}
	case line.Ack != nil:
		a.after = line.Ack.Now
		a.table.heard(line.Ack.Seq)
	}
	return nil
}

// dump sends all connections.
func (a *talker) dump(id uint64) error {
	r, err := a.cfg.Read(a.wanted)
	if err != nil {
		return err
	}
	all := a.table.dump(time.Now(), r, a.wanted)
	end := &wire.End{Seq: a.table.seq, States: len(all), Complete: r.Complete}
	for {
		part := wire.Dump{ID: id}
		part.States, all = cut(all, wire.MaxStates)
		if len(all) == 0 {
			part.End = end
		}
		if err := a.out.Write(wire.FromAgent{Dump: &part}); err != nil || part.End != nil {
			return err
		}
	}
}

// change sends what has changed.
func (a *talker) change() error {
	if a.wanted == nil {
		return nil
	}
	r, err := a.cfg.Read(a.wanted)
	if err != nil {
		return err
	}
	for _, c := range a.table.change(time.Now(), a.after, r) {
		if err := a.out.Write(wire.FromAgent{Change: &c}); err != nil {
			return err
		}
	}
	return nil
}

// ports finds what is wanted.
func ports(by map[string][]string) (func(protocol string, port uint16) bool, error) {
	type span struct{ first, last uint64 }
	spans := map[string][]span{}
	for protocol, all := range by {
		for _, text := range all {
			first, last, ranged := strings.Cut(text, "-")
			if !ranged {
				last = first
			}
			f, err1 := strconv.ParseUint(first, 10, 16)
			l, err2 := strconv.ParseUint(last, 10, 16)
			if err := errors.Join(err1, err2); err != nil {
				return nil, fmt.Errorf("the controller asks for ports %q: %w", text, err)
			}
			spans[protocol] = append(spans[protocol], span{f, l})
		}
	}
	return func(protocol string, port uint16) bool {
		for _, s := range spans[protocol] {
			if s.first <= uint64(port) && uint64(port) <= s.last {
				return true
			}
		}
		return false
	}, nil
}
